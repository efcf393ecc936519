#include "services/visibility/accept.h"

#include <catch2/catch.hpp>
#include <string>

namespace kq::visibility {
namespace {

const char* const kTableRange = "application/json;as=Table;v=v1;g=meta.k8s.io";
const char* const kAggregatedRange = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

TEST_CASE("the form that an Accept header likes best") {
  struct Case {
    std::string accept;
    std::optional<Form> want;
  };
  const std::vector<Form> units = {Form::kPlain, Form::kTable};
  const auto c = GENERATE_COPY(values<Case>({
      {"", Form::kPlain},
      {"*/*", Form::kPlain},
      {"application/json, */*", Form::kPlain},
      {"application/*", Form::kPlain},
      {std::string(kTableRange) + ",application/json", Form::kTable},
      {std::string("application/json,") + kTableRange, Form::kPlain},
      {std::string("application/json;q=0.5,") + kTableRange, Form::kTable},
      {"application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", Form::kPlain},
      {"application/json;as=Table;v=v1beta1;g=meta.k8s.io", std::nullopt},
      {"application/vnd.kubernetes.protobuf", std::nullopt},
      {"application/vnd.kubernetes.protobuf, application/json", Form::kPlain},
      {"text/html;q=0.9, application/json;q=0", std::nullopt},
      {"APPLICATION/JSON", Form::kPlain},
      {";;;,,,=", std::nullopt},
  }));
  CAPTURE(c.accept);
  CHECK(ChooseForm(c.accept, units) == c.want);
}

TEST_CASE("discovery is given in the newest form that is wanted") {
  const std::vector<Form> offered = {Form::kPlain, Form::kAggregated, Form::kAggregatedBeta};
  const std::string beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  CHECK(ChooseForm(std::string(kAggregatedRange) + "," + beta + ",application/json", offered) == Form::kAggregated);
  CHECK(ChooseForm(beta + ",application/json", offered) == Form::kAggregatedBeta);
  CHECK(ChooseForm("application/json", offered) == Form::kPlain);
}

TEST_CASE("a header of many ranges is not read to its end") {
  std::string accept;
  for (int i = 0; i < 10'000; ++i) accept += "text/plain,";
  CHECK(ChooseForm(accept + "application/json", {Form::kPlain}) == std::nullopt);
}

}  // namespace
}  // namespace kq::visibility
