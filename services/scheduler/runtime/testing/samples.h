#ifndef SERVICES_SCHEDULER_RUNTIME_TESTING_SAMPLES_H_
#define SERVICES_SCHEDULER_RUNTIME_TESTING_SAMPLES_H_

#include <string>
#include <vector>

#include "libs/api/queue.h"
#include "libs/api/queue_unit.h"
#include "libs/api/quota.h"
#include "services/scheduler/core/decision.h"
#include "services/scheduler/core/event.h"

// Objects, events and decisions in which every field has a value of its own, so
// that one that gets lost on the way shows.
namespace kq::scheduler {

QueueUnit SampleUnit(const std::string& name);
Queue SampleQueue(const std::string& name);
Quota SampleQuota(const std::string& name);

// One of each kind.
std::vector<Event> SampleEvents();
std::vector<Decision> SampleDecisions();

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_TESTING_SAMPLES_H_
