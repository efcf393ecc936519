#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "libs/http/testing/certificates.h"
#include "libs/http/testing/raw_peer.h"
#include "libs/http/tls_context.h"

namespace kq::testing {
namespace {

TEST_CASE("certificates fit their keys, and no two are the same") {
  const TestAuthority authority;
  const TestCertificate one = LocalhostCertificate(authority), two = LocalhostCertificate(authority);
  CHECK(NewServerTls({one.certificate_pem, one.key_pem, authority.certificate_pem()}).ok());
  CHECK(absl::IsInvalidArgument(NewServerTls({one.certificate_pem, two.key_pem, ""}).status()));
  TestCertificateOptions options;
  options.common_name = "anna";
  const TestCertificate client = authority.IssueClient(options);
  CHECK(NewClientTls({authority.certificate_pem(), false, client.certificate_pem, client.key_pem}).ok());
}

TEST_CASE("a file is written as a whole and goes with its folder") {
  std::string path;
  {
    const TestFolder folder;
    path = folder.Write("a", "one");
    CHECK(folder.Write("a", "two") == path);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    CHECK(text.str() == "two");
  }
  CHECK(!std::ifstream(path).good());
}

TEST_CASE("raw peers talk to each other") {
  RawServer server([](RawPeer& peer) {
    peer.Send(peer.ReadUntil("\n"));
    peer.Send(peer.ReadAll());
  });
  const auto peer = RawPeer::Connect(server.port());
  peer->Send("one\ntwo");
  CHECK(peer->ReadUntil("\n") == "one\n");
  peer->FinishSending();
  CHECK(peer->ReadAll() == "two");
  CHECK_THROWS(RawPeer::Connect(UnusedPort()));
}

}  // namespace
}  // namespace kq::testing
