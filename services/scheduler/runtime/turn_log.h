#ifndef SERVICES_SCHEDULER_RUNTIME_TURN_LOG_H_
#define SERVICES_SCHEDULER_RUNTIME_TURN_LOG_H_

#include <map>
#include <string>

#include "libs/api/queue.h"
#include "services/scheduler/runtime/turn.h"

namespace kq::scheduler {

// What the log says of decisions, at the documented levels. --v=1: a Queue that came,
// with the policy in force, the one that was refused where there is one, and the documented annotations as given; that
// was changed, and that is gone. --v=2: a unit that is assumed, and that
// is no longer, with the reason. --v=3: a unit that is told why it waits.
//
// Of the decision thread.
class TurnLog : public TurnRecorder {
 public:
  void Record(const Turn& turn) override;

 private:
  struct Said {
    Queue queue;
    std::string policy;  // in force: the last that is supported; empty before there was one, then nobody is admitted
  };

  void OnQueue(const Queue& queue);
  void OnQueueRemoved(const std::string& name);

  std::map<std::string, Said> queues_;  // as last said, by name; empty below --v=1
};

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_RUNTIME_TURN_LOG_H_
