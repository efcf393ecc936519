#include <catch2/catch.hpp>

#include "libs/kube/testing/contract_server.h"

namespace kq::testing {
namespace {

using Code = absl::StatusCode;

const KubeResource kMissing = {"example.com", "v1", "unheardofs"};

void CreateFillsMetadata(const ContractWorld& world) {
  const ContractServer server(world);
  Json widget = Widget("create-fills");
  Part(&widget, "status")["phase"] = "Dequeued";
  const Json made = server.Create(widget);
  CHECK(KeyOf(made) == server.Key("create-fills"));
  CHECK_FALSE(UidOf(made).empty());
  CHECK(VersionOf(made) > 0);
  CHECK(Generation(made) == 1);
  absl::Time created;
  CHECK(absl::ParseTime(absl::RFC3339_full, StringAt(made, {"metadata", "creationTimestamp"}), &created, nullptr));
  CHECK(Phase(made) == "Enqueued");  // what the client says of the status does not count

  const absl::StatusOr<Json> found = server.Lookup("create-fills");
  REQUIRE(found.ok());
  CHECK(UidOf(*found) == UidOf(made));
  CHECK(VersionOf(*found) == VersionOf(made));
  CHECK(Size(*found) == 1);
}

void CreateRefuses(const ContractWorld& world) {
  const ContractServer server(world);
  server.Create(Widget("create-twice"));
  CHECK(server.TryCreate(Widget("create-twice")).status().code() == Code::kAlreadyExists);
  CHECK(server.TryCreate(Widget("Not_A_Name")).status().code() == Code::kInvalidArgument);
  CHECK(server.TryCreate(Widget("negative", "", -1)).status().code() == Code::kInvalidArgument);
  Json wrong_kind = Widget("wrong-kind");
  wrong_kind.as_object()["kind"] = "Gadget";
  CHECK(server.TryCreate(wrong_kind).status().code() == Code::kInvalidArgument);
  Json with_version = Widget("with-version");
  Part(&with_version, "metadata")["resourceVersion"] = "1";
  CHECK(server.TryCreate(with_version).status().code() == Code::kInvalidArgument);
  Json elsewhere = Widget("elsewhere");
  Part(&elsewhere, "metadata")["namespace"] = "another";
  CHECK(server.TryCreate(elsewhere).status().code() == Code::kInvalidArgument);
}

void MissingThings(const ContractWorld& world) {
  const ContractServer server(world);
  CHECK(server.Lookup("nobody").status().code() == Code::kNotFound);
  CHECK(server.Merge("nobody", {{"spec", {{"size", 2}}}}).status().code() == Code::kNotFound);
  CHECK(server.MergeStatus("nobody", {{"status", {{"phase", "x"}}}}).status().code() == Code::kNotFound);
  CHECK(server.Delete("nobody").code() == Code::kNotFound);
  Json object = Widget("nobody");
  Part(&object, "metadata")["namespace"] = world.ns;
  Part(&object, "metadata")["resourceVersion"] = "1";
  CHECK(server.api.Update(ContractResource(), Subresource::kNone, object).status().code() == Code::kNotFound);
  CHECK(server.api.Create(ContractResource(), "no-such-namespace", Widget("a")).status().code() == Code::kNotFound);
}

void MissingResource(const ContractWorld& world) {
  const ContractServer server(world);
  ListRequest list;
  list.resource = kMissing;
  list.ns = world.ns;
  CHECK(server.api.List(list).status().code() == Code::kNotFound);
  WatchRequest watch;
  watch.resource = kMissing;
  watch.ns = world.ns;
  watch.from_version = 1;
  CHECK(server.api.Watch(watch).status().code() == Code::kNotFound);
  CHECK(server.api.Get(kMissing, server.Key("a")).status().code() == Code::kNotFound);
  CHECK(server.api.Create(kMissing, world.ns, Widget("a")).status().code() == Code::kNotFound);
}

void ListsInPages(const ContractWorld& world) {
  const ContractServer server(world);
  for (const char* name : {"pages-a", "pages-b", "pages-c", "pages-d", "pages-e"}) {
    server.Create(Widget(name, "pages"));
  }
  ListRequest request = server.Listing("pages", 2);
  std::vector<std::string> names;
  uint64_t version = 0;
  int pages = 0;
  do {
    const absl::StatusOr<ListPage> page = server.api.List(request);
    REQUIRE(page.ok());
    for (const Json& item : page->items) {
      names.push_back(KeyOf(item).name);
      CHECK(KeyOf(item).ns == world.ns);
      CHECK_FALSE(UidOf(item).empty());
      CHECK(VersionOf(item) <= page->version);
    }
    if (pages == 0) {
      version = page->version;
      server.Create(Widget("pages-aa", "pages"));  // too late for this list
    }
    CHECK(page->version == version);
    request.continue_token = page->continue_token;
    ++pages;
  } while (!request.continue_token.empty() && pages < 10);
  CHECK(pages == 3);
  CHECK(names == std::vector<std::string>{"pages-a", "pages-b", "pages-c", "pages-d", "pages-e"});
  CHECK(server.Names(server.Listing("pages")).size() == 6);

  ListRequest everywhere = server.Listing("pages");
  everywhere.ns = "";
  CHECK(server.Names(everywhere).size() == 6);
  request.continue_token = "no such token";
  CHECK(server.api.List(request).status().code() == Code::kInvalidArgument);
}

void ListsBySelectors(const ContractWorld& world) {
  const ContractServer server(world);
  Json red = Widget("selectors-red", "selectors");
  Part(&red, "metadata")["labels"] = {{"case", "selectors"}, {"colour", "red"}};
  Json blue = Widget("selectors-blue", "selectors");
  Part(&blue, "metadata")["labels"] = {{"case", "selectors"}, {"colour", "blue"}};
  Part(&blue, "spec")["node"] = "n2";
  server.Create(red);
  server.Create(blue);
  const auto names = [&](const std::string& labels, const std::string& fields) {
    ListRequest request = server.Listing("selectors");
    if (!labels.empty()) absl::StrAppend(&request.label_selector, ",", labels);
    request.field_selector = fields;
    return server.Names(request);
  };
  using Names = std::vector<std::string>;
  CHECK(names("", "") == Names{"selectors-blue", "selectors-red"});
  CHECK(names("colour=red", "") == Names{"selectors-red"});
  CHECK(names("colour!=red", "") == Names{"selectors-blue"});
  CHECK(names("colour in (red,green)", "") == Names{"selectors-red"});
  CHECK(names("!colour", "").empty());
  CHECK(names("", "metadata.name=selectors-blue") == Names{"selectors-blue"});
  CHECK(names("", absl::StrCat("metadata.namespace!=", world.ns)).empty());
  CHECK(names("", "spec.node=n2") == Names{"selectors-blue"});
  ListRequest broken = server.Listing("selectors");
  broken.label_selector = "colour in red)";
  CHECK(server.api.List(broken).status().code() == Code::kInvalidArgument);
}

}  // namespace

std::vector<ContractCase> ReadContract() {
  return {
      {"create fills in the metadata and the default status", CreateFillsMetadata},
      {"create refuses a taken name and an invalid object", CreateRefuses},
      {"an object that is not there is not found", MissingThings},
      {"a resource that is not there is not found", MissingResource},
      {"a list comes in pages of one moment", ListsInPages},
      {"a list keeps to its selectors", ListsBySelectors},
  };
}

}  // namespace kq::testing
