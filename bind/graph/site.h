// Where in the user's code are we? See Note [Sites] in site.cpp.
#pragma once
#include <Python.h>

#include <string>

#include "core/base/object.h"

namespace clew::bind {

Site current_site();  // owned code; empty when no Python frame outside clew runs
std::string site_text(void* code, std::int32_t instruction);  // "train.py:5 in main"
// What the user called of clew in the call that runs, by its public name ("clew.func.vmap"); empty: nothing.
std::string public_callee();
// The innermost line that is neither clew's nor the standard library's.
Site users_site();
PyObject* site_object(const Site& site);  // a clew Site, or None

void set_package_folder(const char* folder);  // frames of files in it are skipped
PyObject* init_site_type();

}  // namespace clew::bind
