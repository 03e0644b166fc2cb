// Ends a test that finds something wrong.
#pragma once

#include <cstdlib>
#include <iostream>

#define CHECK(what)                                                           \
    do {                                                                      \
        if (!(what)) {                                                        \
            std::cerr << __FILE__ << ':' << __LINE__ << ": " #what << '\n';   \
            std::exit(1);                                                     \
        }                                                                     \
    } while (false)
