// Ctrl-C and SIGTERM: the first signal sets a flag that work loops poll, a second one ends the process at once with
// 128 + its number (cli.md, general rules). A blocking read returns with EINTR. Any thread may poll; a poll is one
// relaxed load.
#pragma once
namespace deepinfer {

void install_interrupt_handler();
// 0, or the number of the signal that came (SIGINT, SIGTERM).
int interrupted();
// Forgets an earlier SIGINT (interactive chat: Ctrl-C stops the answer only).
void clear_interrupt();

}  // namespace deepinfer
