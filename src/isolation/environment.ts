/**
 * The environment of a child. What a child reads was often sent by a stranger, and a fault in its parser must not find the
 * database's password or an API key: a child gets the variables that programs need to run at all, and those that its kind or
 * its call names.
 *
 * Invariant: no variable reaches a child that is neither harmless nor named. The variables of a supervisor reach none: they are
 * meant for the worker alone.
 */
import type { ChildEnvironment } from '../core/environment.ts'
import { ownVariables } from '../lib/supervisor-variables.ts'

/** What Node, the C library and the system's own programs go by. */
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
