#ifndef SERVICES_DEBUG_API_VIEW_JSON_H_
#define SERVICES_DEBUG_API_VIEW_JSON_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "libs/common/json.h"
#include "proto/queueing/v1/snapshot.pb.h"

// Parts of pictures as the debug API spells them. Pure functions.
namespace kq::debug_api {

// Amounts as numbers by resource, in the order of the names: cpu in milli, all else in base units.
JsonObject AmountsJson(const google::protobuf::RepeatedPtrField<queueing::v1::Amount>& amounts);
// As they are spelled on the object ("8Gi").
JsonObject QuantitiesJson(const google::protobuf::RepeatedPtrField<queueing::v1::Quantity>& quantities);
// As Kubernetes writes times; null if it is not set.
Json TimeJson(bool is_set, const google::protobuf::Timestamp& time);

// Everything the picture has of a unit.
JsonObject UnitJson(const queueing::v1::UnitSnapshot& unit);
// Why it waits, with the numbers; null if it was not refused.
Json RefusalJson(const queueing::v1::UnitSnapshot& unit);
// The short form of that: "OVER_MAX", or "" if it was not refused.
std::string ReasonText(const queueing::v1::UnitSnapshot& unit);

// "namespace/name"
std::string KeyText(const queueing::v1::UnitSnapshot& unit);

// Indented by a tab a level and with a line's end, as the original prints.
std::string TabbedJsonText(const Json& value);

}  // namespace kq::debug_api

#endif  // SERVICES_DEBUG_API_VIEW_JSON_H_
