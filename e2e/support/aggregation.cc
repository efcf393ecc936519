#include "e2e/support/aggregation.h"

namespace kq::e2e {

void RegisterVisibility(TestCluster* cluster, int port) {
  cluster->Create({"", "v1", "services"}, "koord-queue",
                  {{"apiVersion", "v1"},
                   {"kind", "Service"},
                   {"metadata", {{"name", "koord-queue-visibility-server"}}},
                   {"spec", {{"type", "ExternalName"}, {"externalName", "localhost"}}}});
  const JsonObject service = {{"name", "koord-queue-visibility-server"}, {"namespace", "koord-queue"}, {"port", port}};
  cluster->Create({"apiregistration.k8s.io", "v1", "apiservices"}, "",
                  {{"apiVersion", "apiregistration.k8s.io/v1"},
                   {"kind", "APIService"},
                   {"metadata", {{"name", "v1alpha1.visibility.koord-queue.x-k8s.io"}}},
                   {"spec",
                    {{"group", "visibility.koord-queue.x-k8s.io"},
                     {"version", "v1alpha1"},
                     {"groupPriorityMinimum", 100},
                     {"versionPriority", 100},
                     {"service", service}}}});
}

}  // namespace kq::e2e
