#ifndef E2E_SUPPORT_HELM_H_
#define E2E_SUPPORT_HELM_H_

#include <string>

// The real helm, on the chart of deploy/chart.
namespace kq::e2e {

inline constexpr char kChart[] = "deploy/chart/koord-queue";  // a test's data

// What it printed, on both streams, and how it ended.
struct HelmAnswer {
  int code = 0;
  std::string output;
};

class Helm {
 public:
  // An empty kubeconfig: for commands that ask no cluster. Its caches lie in a folder
  // of its own, which is removed with the object.
  explicit Helm(std::string kubeconfig = "");
  ~Helm();
  Helm(const Helm&) = delete;
  Helm& operator=(const Helm&) = delete;

  // The folder of the chart, for other commands.
  std::string chart() const { return folder_ + "/koord-queue"; }
  HelmAnswer Try(const std::string& arguments) const;
  // Ends the test if helm fails.
  std::string Call(const std::string& arguments) const;

  // What the chart renders with these flags ("--set a=b"), in namespace koord-queue.
  HelmAnswer Render(const std::string& flags) const;
  // "install koord-queue CHART -n koord-queue FLAGS", and so on.
  std::string Install(const std::string& flags = "") const;
  std::string Upgrade(const std::string& flags = "") const;
  std::string Uninstall() const;

 private:
  const std::string kubeconfig_;
  std::string folder_;
};

}  // namespace kq::e2e

#endif  // E2E_SUPPORT_HELM_H_
