#ifndef SERVICES_VISIBILITY_DISCOVERY_H_
#define SERVICES_VISIBILITY_DISCOVERY_H_

#include "libs/common/json.h"

// What the API server and its clients ask before they ask for units: which groups,
// versions and resources there are, and the schemas. All of it is constant.
namespace kq::visibility {

inline constexpr char kGroup[] = "visibility.koord-queue.x-k8s.io";
inline constexpr char kVersionName[] = "v1alpha1";
inline constexpr char kGroupVersion[] = "visibility.koord-queue.x-k8s.io/v1alpha1";

Json ApiGroup();         // /apis/GROUP
Json ApiGroupList();     // /apis
Json ApiResourceList();  // /apis/GROUP/VERSION
// /apis as one aggregated document; `version` is that of apidiscovery.k8s.io: v2 or v2beta1.
Json AggregatedDiscovery(const char* version);
Json OpenApiV2();        // /openapi/v2
Json OpenApiV3Index();   // /openapi/v3
Json OpenApiV3();        // /openapi/v3/apis/GROUP/VERSION
Json VersionDocument();  // /version

}  // namespace kq::visibility

#endif  // SERVICES_VISIBILITY_DISCOVERY_H_
