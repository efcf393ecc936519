#include "services/scheduler/sim/process.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kq::scheduler {
namespace {

// A small mailbox, so that it is full now and then.
constexpr size_t kMailboxLimit = 40;

std::unique_ptr<Policies> TakePolicies() { return *MakePolicies(DefaultPlugins(), 1.0); }

CoreOptions OptionsFor(const Policies& policies, Guards guards) {
  CoreOptions options;
  policies.Fill(&options);
  options.guards = guards;
  options.asks_per_cycle = 7;  // cycles that go on in the next turn
  options.refresh_interval = absl::Seconds(20);
  options.refresh_spacing = absl::Seconds(1);
  return options;
}

WriteQueueOptions WriteOptions(uint64_t seed) {
  WriteQueueOptions options;
  options.seed = seed;
  options.advisory_per_second = 2;
  options.advisory_burst = 4;
  return options;
}

EventOptions EventsOf(const std::string& component) {
  EventOptions options;
  options.component = component;
  return options;
}

ClusterWatchOptions WatchOptions(uint64_t seed) {
  ClusterWatchOptions options;
  options.page_size = 5;
  options.seed = seed;
  return options;
}

uint64_t Mix(uint64_t digest, uint64_t value) {
  digest ^= value + 0x9e3779b97f4a7c15 + (digest << 6) + (digest >> 2);
  return digest;
}

uint64_t TextDigest(const std::string& text) {
  uint64_t digest = 14695981039346656037u;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return digest;
}

}  // namespace

Process::Process(Guards guards, const std::string& epoch, uint64_t seed, KubeApi* api, SimulatedClock* clock)
    : clock_(clock),
      policies_(TakePolicies()),
      core_(std::make_unique<Core>(OptionsFor(*policies_, guards))),
      mailbox_(kMailboxLimit),
      writes_(WriteOptions(seed), api, clock),
      queue_writes_(api, &mailbox_, clock),
      events_(EventsOf("koord-queue"), api, clock),
      status_writer_({.writes = &writes_,
                      .queues = &queue_writes_,
                      .events = &events_,
                      .mailbox = &mailbox_,
                      .may_write = [] { return true; }}),
      watch_(WatchOptions(seed), api, &mailbox_, clock),
      loop_(SchedulerLoopOptions{}, {.core = core_.get(),
                                     .mailbox = &mailbox_,
                                     .publisher = &publisher_,
                                     .sink = this,
                                     .clock = clock,
                                     .recorders = {this}}) {
  if (!mailbox_.Post(LeadershipTaken{epoch})) violations_.push_back("the mailbox refused the leadership");
}

Process::~Process() = default;

void Process::Watch(ListedKind kind) { watch_.Step(kind, absl::ZeroDuration()); }
void Process::WriteUnit() { writes_.Step(absl::ZeroDuration()); }
void Process::WriteQueueObject() { queue_writes_.Step(absl::ZeroDuration()); }
void Process::WriteEvent() { events_.Step(absl::ZeroDuration()); }

void Process::Turn() { loop_.RunTurn(absl::ZeroDuration()); }

bool Process::Busy() const {
  const WriteQueue::Totals totals = writes_.Now();
  return totals.binding_waiting > 0 || totals.advisory_waiting > 0 || queue_writes_.Now().waiting > 0 ||
         mailbox_.Now().waiting > 0;
}

void Process::Submit(const Decision& decision) { status_writer_.Submit(decision); }

void Process::Record(const kq::scheduler::Turn& turn) {
  if (turn.decisions == nullptr) return;
  for (const Decision& decision : *turn.decisions) {
    digest_ = Mix(digest_, decision.index());
    if (const auto* dequeue = std::get_if<Dequeue>(&decision)) {
      ++admitted_;
      digest_ = Mix(digest_, TextDigest(absl::StrCat(dequeue->unit.ToString(), "@", dequeue->version)));
    }
    if (const auto* requeue = std::get_if<Requeue>(&decision)) {
      digest_ = Mix(digest_, TextDigest(absl::StrCat(requeue->unit.ToString(), RefusalSentence(requeue->why))));
    }
  }
}

std::vector<std::string> Process::TakeViolations() {
  for (std::string& broken : core_->BrokenInvariants()) violations_.push_back(std::move(broken));
  return std::exchange(violations_, {});
}

}  // namespace kq::scheduler
