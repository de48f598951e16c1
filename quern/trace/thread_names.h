// Threads of a trace: numbered in the order in which they are first seen, some with a name, such as "rank 1".
#pragma once
#include <map>
#include <string>

namespace quern::trace {

int thread_number();                        // of this thread
void name_thread(const std::string& name);  // this one, for good
std::map<int, std::string> thread_names();  // of those that have one, by number

}  // namespace quern::trace
