#include <grpc/support/log.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "cli/kqctl/app.h"

int main(int argc, char** argv) {
  // gRPC's own log speaks of its inner life; what matters is in the errors.
  gpr_set_log_function([](gpr_log_func_args*) {});
  setlocale(LC_CTYPE, "");

  kq::kqctl::Console console;
  console.out = &std::cout;
  console.err = &std::cerr;
  console.clock = &kq::Clock::Real();
  console.tty = isatty(STDOUT_FILENO) == 1;
  console.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  if (winsize size{}; console.tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    console.columns = size.ws_col;
    console.lines = size.ws_row;
  }
  return kq::kqctl::RunKqctl(std::vector<std::string>(argv + 1, argv + argc), console);
}
