/**
 * Builds the environment of a child. A child often reads input from strangers, and a bug in a parser must not expose the database password
 * or an API key: a child gets the variables that programs need to run at all, and the variables named by its kind or its call.
 *
 * Invariant: no variable reaches a child unless it is harmless or named. Variables of a supervisor reach no child: these variables are for
 * the worker only.
 */
import type { ChildEnvironment } from '../jobs/model/environment-option.ts'
import { ownVariables } from '../lib/process/supervisor-variables.ts'

/** Variables that Node, the C library and system programs read. */
const harmless = [
  'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP',
  'NODE_ENV', 'NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_V8_COVERAGE', 'SSL_CERT_FILE', 'SSL_CERT_DIR',
  'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'FONTCONFIG_FILE', 'FONTCONFIG_PATH',
] // biome-ignore format: read as one list
const isLocale = /^LC_[A-Z]+$/

export function childEnvironment(wanted: ChildEnvironment, real: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const isFor = (name: string): boolean =>
    wanted === 'all' || harmless.includes(name) || isLocale.test(name) || wanted.includes(name)
  return Object.fromEntries(Object.entries(real).filter(([name]) => isFor(name) && !ownVariables.includes(name)))
}
