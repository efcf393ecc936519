#include "e2e/fault_proxy/proxy_kubeconfig.h"

#include <catch2/catch.hpp>

namespace kq {
namespace {

TEST_CASE("the rewritten kubeconfig leads through the proxy with the same token") {
  KubeConnection direct;
  direct.server = "https://127.0.0.1:6443";
  direct.ca_pem = "-----BEGIN CERTIFICATE-----\nserver\n";
  direct.token = "t0ken: yes";
  direct.ns = "koord-queue";
  const auto text = ProxyKubeconfig(direct, "https://127.0.0.1:7000", "-----BEGIN CERTIFICATE-----\nproxy\n");
  REQUIRE(text.ok());
  const auto connection = ParseKubeconfig(*text, "");
  INFO(connection.status().ToString());
  REQUIRE(connection.ok());
  CHECK(connection->server == "https://127.0.0.1:7000");
  CHECK(connection->ca_pem == "-----BEGIN CERTIFICATE-----\nproxy\n");
  CHECK(connection->token == direct.token);
  CHECK(connection->ns == "koord-queue");
}

TEST_CASE("plain HTTP needs no authority") {
  KubeConnection direct;
  direct.token = "t";
  const auto text = ProxyKubeconfig(direct, "http://127.0.0.1:7000", "");
  REQUIRE(text.ok());
  CHECK(ParseKubeconfig(*text, "")->ca_pem.empty());
}

TEST_CASE("a client certificate alone is refused, since it cannot pass") {
  KubeConnection direct;
  direct.client_certificate_pem = "x";
  CHECK(absl::IsInvalidArgument(ProxyKubeconfig(direct, "http://127.0.0.1:7000", "").status()));
}

}  // namespace
}  // namespace kq
