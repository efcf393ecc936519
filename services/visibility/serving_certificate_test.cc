#include "services/visibility/serving_certificate.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

#include "absl/strings/escaping.h"
#include "libs/common/simulated_clock.h"
#include "libs/http/testing/certificates.h"
#include "libs/kube/testing/fake_kube_api.h"

namespace kq::visibility {
namespace {

const KubeResource kSecrets{"", "v1", "secrets"};
const KubeResource kServices{"", "v1", "services"};
const KubeResource kApiServices{"apiregistration.k8s.io", "v1", "apiservices"};
const ObjectKey kSecret{"koord-queue", "koord-queue-visibility-ca"};

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Json Object(const char* api_version, const char* kind, const std::string& name) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}, {"spec", JsonObject()}};
}

// As the API server has it.
absl::Status VerifiedOrNot(const Json& api_service) {
  const Json* skip = Find(api_service, {"spec", "insecureSkipTLSVerify"});
  const bool both = skip != nullptr && *skip == true && !StringAt(api_service, {"spec", "caBundle"}).empty();
  return both ? absl::InvalidArgumentError("spec.insecureSkipTLSVerify: may not be true if caBundle is present")
              : absl::OkStatus();
}

struct World {
  World() {
    for (const KubeResource& resource : {kSecrets, kServices, kApiServices}) {
      FakeResource options;
      options.namespaced = resource.plural != "apiservices";
      if (resource == kApiServices) options.validate = VerifiedOrNot;
      api.AddResource(resource, options);
    }
    REQUIRE(api.Create(kApiServices, "",
                       Object("apiregistration.k8s.io/v1", "APIService", "v1alpha1.visibility.koord-queue.x-k8s.io"))
                .ok());
  }
  ServingCertificate Replica(const testing::TestFolder& folder) {
    ServingCertificateOptions options;
    options.folder = folder.Path("");
    return ServingCertificate(options, &api, &clock);
  }
  Json ApiService() { return *api.Get(kApiServices, {"", "v1alpha1.visibility.koord-queue.x-k8s.io"}); }
  std::string CaBundle() {
    std::string text;
    return absl::Base64Unescape(StringAt(ApiService(), {"spec", "caBundle"}), &text) ? text : "";
  }
  std::string SecretBundle() {
    std::string text;
    return absl::Base64Unescape(StringAt(*api.Get(kSecrets, kSecret), {"data", "ca.crt"}), &text) ? text : "";
  }

  SimulatedClock clock{absl::FromUnixSeconds(1'900'000'000)};
  FakeKubeApi api{{.clock = &clock}};
};

TEST_CASE("the first replica makes the authority, the second one reads it, and the APIService trusts it") {
  World world;
  const testing::TestFolder one, other;
  ServingCertificate first = world.Replica(one), second = world.Replica(other);
  REQUIRE(first.Step().ok());
  const std::string bundle = world.SecretBundle();
  CHECK(SplitCertificates(bundle).size() == 1);
  CHECK(world.CaBundle() == bundle);
  REQUIRE(second.Step().ok());
  CHECK(world.SecretBundle() == bundle);
  CHECK(FileText(first.certificate_file()) != FileText(second.certificate_file()));
  const uint64_t version = VersionOf(*world.api.Get(kSecrets, kSecret));
  REQUIRE(first.Step().ok());
  CHECK(VersionOf(*world.api.Get(kSecrets, kSecret)) == version);
}

TEST_CASE("keys lie in files that are ours alone") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  REQUIRE(replica.WriteProvisional().ok());
  REQUIRE(replica.Step().ok());
  struct stat file = {};
  REQUIRE(::stat(replica.key_file().c_str(), &file) == 0);
  CHECK((file.st_mode & 0777) == 0600);
}

TEST_CASE("a certificate is renewed when a third of its time is left") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  REQUIRE(replica.Step().ok());
  const std::string first = FileText(replica.certificate_file());
  world.clock.Advance(absl::Hours(24 * 19));
  REQUIRE(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) == first);
  world.clock.Advance(absl::Hours(24 * 2));
  REQUIRE(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) != first);
}

TEST_CASE("a new authority is trusted beside the old one, until that ends") {
  World world;
  const testing::TestFolder one, other;
  ServingCertificate first = world.Replica(one), second = world.Replica(other);
  REQUIRE(first.Step().ok());
  REQUIRE(second.Step().ok());
  const std::string old_authority = world.SecretBundle();
  world.clock.Advance(absl::Hours(24 * 365 * 4));
  REQUIRE(first.Step().ok());
  const std::vector<std::string> both = SplitCertificates(world.SecretBundle());
  REQUIRE(both.size() == 2);
  CHECK(both[1] == old_authority);
  CHECK(world.CaBundle() == world.SecretBundle());
  REQUIRE(second.Step().ok());
  CHECK(SplitCertificates(world.SecretBundle()) == both);
  world.clock.Advance(absl::Hours(24 * 365 * 4));
  REQUIRE(first.Step().ok());
  const std::vector<std::string> later = SplitCertificates(world.SecretBundle());
  REQUIRE(later.size() == 2);
  CHECK(later[1] == both[0]);
}

TEST_CASE("who calls us learns of a new authority before a certificate of it is shown") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  REQUIRE(replica.Step().ok());
  const std::string old_bundle = world.CaBundle();
  world.clock.Advance(absl::Hours(24 * 19));
  REQUIRE(replica.Step().ok());
  const std::string shown = FileText(replica.certificate_file());
  // Another replica renewed the authority, and nobody has told the APIService yet.
  const testing::TestFolder other;
  REQUIRE(world.api.Delete({kSecrets, kSecret}).ok());
  ServingCertificate second = world.Replica(other);
  REQUIRE(second.Step().ok());
  const std::string renewed = world.SecretBundle();
  Json both = *world.api.Get(kSecrets, kSecret);
  both.at("data").as_object()["ca.crt"] = absl::Base64Escape(renewed + old_bundle);
  REQUIRE(world.api.Update(kSecrets, Subresource::kNone, both).ok());

  REQUIRE(replica.Step().ok());
  CHECK(world.CaBundle() == renewed + old_bundle);
  CHECK(FileText(replica.certificate_file()) == shown);
  REQUIRE(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) != shown);
}

TEST_CASE("an authority that was replaced without an overlap leaves no time to wait") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  REQUIRE(replica.Step().ok());
  const std::string shown = FileText(replica.certificate_file());
  REQUIRE(world.api.Delete({kSecrets, kSecret}).ok());
  REQUIRE(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) != shown);
  CHECK(world.CaBundle() == world.SecretBundle());
}

// Lets another replica be quicker: it does its `work` just before the first call of this verb on the Secret.
void BeOvertaken(World* world, FakeCall::Verb verb, const std::function<void()>& work) {
  auto done = std::make_shared<bool>(false);
  world->api.set_faults([=](const FakeCall& call) {
    if (call.resource == kSecrets && call.verb == verb && !*done) {
      *done = true;
      work();
    }
    return FakeFault();
  });
}

TEST_CASE("of two replicas that are the first at the same time one makes the authority, and both use it") {
  World world;
  const testing::TestFolder one, other;
  ServingCertificate first = world.Replica(one), second = world.Replica(other);
  BeOvertaken(&world, FakeCall::Verb::kCreate, [&] { REQUIRE(second.Step().ok()); });
  REQUIRE(first.Step().ok());
  CHECK(world.api.Calls(FakeCall::Verb::kCreate) == 3);  // the APIService, and two tries
  CHECK(SplitCertificates(world.SecretBundle()).size() == 1);
  CHECK(world.CaBundle() == world.SecretBundle());
  // Both show certificates of that authority: neither has a reason to make another.
  const std::string shown = FileText(first.certificate_file());
  REQUIRE(first.Step().ok());
  CHECK(FileText(first.certificate_file()) == shown);
}

TEST_CASE("of two replicas that renew the authority at the same time one does, and both use it") {
  World world;
  const testing::TestFolder one, other;
  ServingCertificate first = world.Replica(one), second = world.Replica(other);
  REQUIRE(first.Step().ok());
  REQUIRE(second.Step().ok());
  const std::string old_authority = world.SecretBundle();
  world.clock.Advance(absl::Hours(24 * 365 * 4));
  BeOvertaken(&world, FakeCall::Verb::kUpdate, [&] { REQUIRE(second.Step().ok()); });
  REQUIRE(first.Step().ok());
  CHECK(world.api.Calls(FakeCall::Verb::kUpdate) == 2);
  const std::vector<std::string> both = SplitCertificates(world.SecretBundle());
  REQUIRE(both.size() == 2);
  CHECK(both[1] == old_authority);
  CHECK(world.CaBundle() == world.SecretBundle());
}

TEST_CASE("a replica that finds a new authority already published gives the API server time, too") {
  World world;
  const testing::TestFolder one, other;
  ServingCertificate first = world.Replica(one), second = world.Replica(other);
  REQUIRE(first.Step().ok());
  REQUIRE(second.Step().ok());
  // The authority is due, the certificates are not.
  world.clock.Advance(absl::Hours(24 * 365 * 5) * 2 / 3 - absl::Hours(24 * 5));
  REQUIRE(first.Step().ok());
  REQUIRE(second.Step().ok());
  REQUIRE(SplitCertificates(world.SecretBundle()).size() == 1);
  world.clock.Advance(absl::Hours(24 * 6));
  REQUIRE(first.Step().ok());
  REQUIRE(SplitCertificates(world.CaBundle()).size() == 2);
  const std::string shown = FileText(second.certificate_file());
  REQUIRE(second.Step().ok());
  CHECK(FileText(second.certificate_file()) == shown);
  REQUIRE(second.Step().ok());
  CHECK(FileText(second.certificate_file()) != shown);
}

TEST_CASE("while the API server cannot be told of a new authority, a certificate of the old one is shown") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  world.clock.Advance(absl::Hours(1));
  REQUIRE(replica.Step().ok());
  world.clock.Advance(absl::Hours(24 * 365 * 5) * 2 / 3 - absl::Hours(24 * 5));
  REQUIRE(replica.Step().ok());
  const std::string old_bundle = world.CaBundle(), shown = FileText(replica.certificate_file());
  bool allowed = false;
  world.api.set_faults([&allowed](const FakeCall& call) {
    FakeFault fault;
    if (!allowed && call.resource == kApiServices) fault.kind = FakeFault::Kind::kUnavailable;
    return fault;
  });
  SECTION("it was renewed") { world.clock.Advance(absl::Hours(24 * 6)); }
  SECTION("it was replaced") { REQUIRE(world.api.Delete({kSecrets, kSecret}).ok()); }
  for (int i = 0; i < 3; ++i) {
    CHECK(absl::IsUnavailable(replica.Step()));
    CHECK(FileText(replica.certificate_file()) == shown);
  }
  CHECK(SplitCertificates(world.SecretBundle()).front() != old_bundle);
  allowed = true;
  CHECK(world.CaBundle() == old_bundle);
  REQUIRE(replica.Step().ok());
  REQUIRE(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) != shown);
  CHECK(world.CaBundle() == world.SecretBundle());
}

TEST_CASE("a Secret that is spoiled changes neither the certificate in use nor whom the API server trusts") {
  World world;
  const testing::TestFolder folder, elsewhere;
  ServingCertificate replica = world.Replica(folder);
  REQUIRE(replica.Step().ok());
  const std::string shown = FileText(replica.certificate_file()), bundle = world.CaBundle();
  const Json good = *world.api.Get(kSecrets, kSecret);
  CertificateRequest request;
  request.common_name = "another authority";
  request.not_before = world.clock.TimeNow();
  request.not_after = world.clock.TimeNow() + absl::Hours(24 * 365 * 5);
  const absl::StatusOr<CertificateAndKey> another = MakeAuthority(request);
  REQUIRE(another.ok());
  request.not_after -= absl::Hours(24);
  const absl::StatusOr<CertificateAndKey> leaf = IssueCertificate(*another, CertificateUse::kServer, request);
  REQUIRE(leaf.ok());
  struct Spoiled {
    std::string name, certificates, key;
  };
  for (const Spoiled& spoiled : {Spoiled{"everything gone", "", ""},
                                 {"no certificate", "", another->key_pem},
                                 {"no key", bundle, ""},
                                 {"garbage for a key", bundle, "garbage"},
                                 {"garbage for certificates", "garbage", another->key_pem},
                                 {"the key of another authority", bundle, another->key_pem},
                                 {"the certificate of another authority", another->certificate_pem, "x"},
                                 {"no authority", leaf->certificate_pem, leaf->key_pem}}) {
    CAPTURE(spoiled.name);
    Json secret = *world.api.Get(kSecrets, kSecret);
    secret.as_object()["data"] = {{"ca.crt", absl::Base64Escape(spoiled.certificates)},
                                  {"ca.key", absl::Base64Escape(spoiled.key)}};
    REQUIRE(world.api.Update(kSecrets, Subresource::kNone, secret).ok());
    const absl::Status status = replica.Step();
    CHECK_FALSE(status.ok());
    CHECK_THAT(std::string(status.message()), Catch::Contains("koord-queue/koord-queue-visibility-ca"));
    CHECK(FileText(replica.certificate_file()) == shown);
    CHECK(world.CaBundle() == bundle);
  }
  Json mended = *world.api.Get(kSecrets, kSecret);
  mended.as_object()["data"] = good.at("data");
  REQUIRE(world.api.Update(kSecrets, Subresource::kNone, mended).ok());
  CHECK(replica.Step().ok());
  CHECK(FileText(replica.certificate_file()) == shown);
}

TEST_CASE("the Secret goes when the Service goes") {
  World world;
  REQUIRE(world.api.Create(kServices, "koord-queue", Object("v1", "Service", "koord-queue-visibility-server")).ok());
  const testing::TestFolder folder;
  REQUIRE(world.Replica(folder).Step().ok());
  const Json secret = *world.api.Get(kSecrets, kSecret);
  const JsonArray& owners = Find(secret, {"metadata", "ownerReferences"})->get_array();
  REQUIRE(owners.size() == 1);
  CHECK(StringAt(owners[0], {"kind"}) == "Service");
  CHECK_FALSE(StringAt(owners[0], {"uid"}).empty());
}

TEST_CASE("a Secret that holds no certificate is told by name, and left alone") {
  World world;
  REQUIRE(world.api.Create(kSecrets, "koord-queue", Object("v1", "Secret", kSecret.name)).ok());
  const testing::TestFolder folder;
  const absl::Status status = world.Replica(folder).Step();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("koord-queue/koord-queue-visibility-ca"));
}

TEST_CASE("whoever writes the APIService at the same time does not keep the authority out of it") {
  World world;
  int conflicts = 0;
  world.api.set_faults([&conflicts](const FakeCall& call) {
    FakeFault fault;
    const bool strikes = call.resource == kApiServices && call.verb == FakeCall::Verb::kPatch && conflicts < 3;
    if (strikes) {
      ++conflicts;
      fault.kind = FakeFault::Kind::kConflict;
    }
    return fault;
  });
  const testing::TestFolder folder;
  REQUIRE(world.Replica(folder).Step().ok());
  CHECK(conflicts == 3);
  CHECK(world.CaBundle() == world.SecretBundle());
}

TEST_CASE("nobody is left to call us unverified, as the original's APIService has it") {
  World world;
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  SECTION("from before") {}
  SECTION("by hand, later") {
    REQUIRE(replica.Step().ok());
    REQUIRE(Find(world.ApiService(), {"spec", "insecureSkipTLSVerify"}) == nullptr);
  }
  Json unverified = world.ApiService();
  unverified.at("spec") = {{"insecureSkipTLSVerify", true}};
  REQUIRE(world.api.Update(kApiServices, Subresource::kNone, unverified).ok());
  CHECK(replica.Step().ok());
  CHECK(Find(world.ApiService(), {"spec", "insecureSkipTLSVerify"}) == nullptr);
  CHECK(world.CaBundle() == world.SecretBundle());
  // One that says false is as good as none.
  Json said = world.ApiService();
  said.at("spec").as_object()["insecureSkipTLSVerify"] = false;
  REQUIRE(world.api.Update(kApiServices, Subresource::kNone, said).ok());
  const int patches = world.api.Calls(FakeCall::Verb::kPatch);
  CHECK(replica.Step().ok());
  CHECK(world.api.Calls(FakeCall::Verb::kPatch) == patches);
}

TEST_CASE("an authority that cannot be put into the APIService is no success") {
  World world;
  world.api.set_faults([](const FakeCall& call) {
    FakeFault fault;
    if (call.resource == kApiServices && call.verb == FakeCall::Verb::kPatch) fault.kind = FakeFault::Kind::kConflict;
    return fault;
  });
  const testing::TestFolder folder;
  CHECK(absl::IsAborted(world.Replica(folder).Step()));
}

TEST_CASE("without an APIService the certificate is there all the same, and what is missing is said") {
  World world;
  DeleteRequest removal;
  removal.resource = kApiServices;
  removal.key = {"", "v1alpha1.visibility.koord-queue.x-k8s.io"};
  REQUIRE(world.api.Delete(removal).ok());
  const testing::TestFolder folder;
  ServingCertificate replica = world.Replica(folder);
  const absl::Status status = replica.Step();
  CHECK(absl::IsNotFound(status));
  CHECK(replica.End().has_value());
}

}  // namespace
}  // namespace kq::visibility
