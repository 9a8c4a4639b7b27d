// Launching kernels.
#pragma once
#include "state.h"

void attach_runtime(soft_state *state);
void forget_launches(const Function *function);
