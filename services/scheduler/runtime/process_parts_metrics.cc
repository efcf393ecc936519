#include "services/scheduler/runtime/process_parts_metrics.h"

#include <string>

namespace kq::scheduler {
namespace {

using Labels = MetricSink::Labels;

void Mailbox(const EventMailbox& mailbox, MetricSink* sink) {
  const EventMailbox::Totals totals = mailbox.Now();
  sink->Gauge("koord_queue_mailbox_waiting", "Events that wait for the core.", {}, static_cast<double>(totals.waiting));
  const auto count = [sink](const char* outcome, int64_t value) {
    sink->Counter("koord_queue_mailbox_events_total", "Events posted to the core, by what became of them.",
                  {{"outcome", outcome}}, static_cast<double>(value));
  };
  count("taken", totals.posted - totals.coalesced);
  count("coalesced", totals.coalesced);
  count("refused", totals.refused);
}

void Loop(const SchedulerLoop& loop, MetricSink* sink) {
  sink->Counter("koord_queue_turns_total", "Turns of the decision loop.", {}, static_cast<double>(loop.turns()));
  sink->Counter("koord_queue_slow_turns_total", "Turns that took longer than their limit.", {},
                static_cast<double>(loop.slow_turns()));
}

void Watch(const ClusterWatch& watch, MetricSink* sink) {
  for (const ClusterWatch::KindHealth& kind : watch.Health()) {
    const Labels labels = {{"resource", kind.resource}};
    sink->Gauge("koord_queue_reflector_synced", "1 once the kind has been listed.", labels, kind.synced ? 1 : 0);
    sink->Gauge("koord_queue_reflector_healthy", "1 while listing and watching work.", labels,
                kind.status.ok() ? 1 : 0);
    sink->Counter("koord_queue_reflector_lists_total", "Lists that were completed.", labels,
                  static_cast<double>(kind.counts.lists));
    sink->Counter("koord_queue_reflector_watches_total", "Watches that were opened.", labels,
                  static_cast<double>(kind.counts.watches));
    sink->Counter("koord_queue_reflector_events_total", "Events that came by a watch.", labels,
                  static_cast<double>(kind.counts.events));
    sink->Counter("koord_queue_reflector_errors_total", "Lists and watches that failed.", labels,
                  static_cast<double>(kind.counts.errors));
    sink->Counter("koord_queue_reflector_broken_objects_total",
                  "Objects that were left out because they cannot be named.", labels, static_cast<double>(kind.broken));
  }
}

void Writes(const WriteQueue& writes, MetricSink* sink) {
  const WriteQueue::Totals totals = writes.Now();
  const auto waiting = [sink](const char* kind, int64_t value) {
    sink->Gauge("koord_queue_writes_waiting", "Status writes that wait, or are on their way.", {{"kind", kind}},
                static_cast<double>(value));
  };
  waiting("binding", totals.binding_waiting);
  waiting("advisory", totals.advisory_waiting);
  waiting("in_flight", totals.in_flight);
  const auto count = [sink](const char* outcome, int64_t value) {
    sink->Counter("koord_queue_writes_total", "Status writes, by what became of them.", {{"outcome", outcome}},
                  static_cast<double>(value));
  };
  count("made", totals.made);
  count("failed", totals.failed);
  count("conflict", totals.conflicts);
  count("retried", totals.retried);
  count("replaced", totals.replaced);
  count("dropped", totals.dropped);
  count("reread", totals.reread);
}

void QueueWrites(const QueueWriter& queues, MetricSink* sink) {
  const QueueWriter::Totals totals = queues.Now();
  sink->Gauge("koord_queue_queue_writes_waiting", "Writes of Queues that wait.", {},
              static_cast<double>(totals.waiting));
  const auto count = [sink](const char* outcome, int64_t value) {
    sink->Counter("koord_queue_queue_writes_total", "Writes of Queues, by what became of them.", {{"outcome", outcome}},
                  static_cast<double>(value));
  };
  count("made", totals.made);
  count("failed", totals.failed);
}

void QueueItems(const QueueItemsWriter& items, MetricSink* sink) {
  const QueueItemsWriter::Totals totals = items.Now();
  const auto count = [sink](const char* outcome, int64_t value) {
    sink->Counter("koord_queue_queue_items_writes_total",
                  "Writes of Queue.status.queueItemDetails, by what became of them.", {{"outcome", outcome}},
                  static_cast<double>(value));
  };
  count("made", totals.written);
  count("failed", totals.failed);
  sink->Gauge("koord_queue_queue_items_cut", "Queues of which more units wait than queueItemDetails lists.", {},
              static_cast<double>(totals.cut));
}

void Events(const EventRecorder& events, MetricSink* sink) {
  const EventRecorder::Totals totals = events.Now();
  sink->Gauge("koord_queue_events_waiting", "Kubernetes Events that wait to be written.", {},
              static_cast<double>(totals.waiting));
  const auto count = [sink](const char* outcome, int64_t value) {
    sink->Counter("koord_queue_events_total", "Kubernetes Events, by what became of them.", {{"outcome", outcome}},
                  static_cast<double>(value));
  };
  count("written", totals.written);
  count("aggregated", totals.aggregated);
  count("dropped", totals.dropped);
  count("failed", totals.failed);
}

void Log(const DecisionLog& log, MetricSink* sink) {
  const DecisionLog::Totals totals = log.Now();
  const auto count = [sink](const char* name, const char* help, int64_t value) {
    sink->Counter(name, help, {}, static_cast<double>(value));
  };
  count("koord_queue_decision_log_turns_total", "Turns written to the decision log.", totals.turns);
  count("koord_queue_decision_log_bytes_total", "Bytes written to the decision log.", totals.bytes);
  count("koord_queue_decision_log_lost_turns_total", "Turns that are missing in the decision log.", totals.lost);
  count("koord_queue_decision_log_errors_total", "Writes to the decision log that failed.", totals.errors);
  count("koord_queue_decision_log_files_total", "Files of the decision log that were begun.", totals.files);
  sink->Gauge("koord_queue_decision_log_waiting", "Events and decisions that wait to be written to the decision log.",
              {}, static_cast<double>(totals.waiting));
}

}  // namespace

void CollectParts(const ProcessParts& parts, MetricSink* sink) {
  if (parts.mailbox != nullptr) Mailbox(*parts.mailbox, sink);
  if (parts.loop != nullptr) Loop(*parts.loop, sink);
  if (parts.watch != nullptr) Watch(*parts.watch, sink);
  if (parts.writes != nullptr) Writes(*parts.writes, sink);
  if (parts.queues != nullptr) QueueWrites(*parts.queues, sink);
  if (parts.queue_items != nullptr) QueueItems(*parts.queue_items, sink);
  if (parts.fence != nullptr) {
    sink->Counter("koord_queue_fenced_writes_total", "Writes that were not made because this process does not lead.",
                  {}, static_cast<double>(parts.fence->refused()));
  }
  if (parts.events != nullptr) Events(*parts.events, sink);
  if (parts.log != nullptr) Log(*parts.log, sink);
}

}  // namespace kq::scheduler
