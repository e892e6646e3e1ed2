/** Turns any error of loading a config into a `bad_config` with the user's own file and line. */
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRetomaError, type LocalizedText, RetomaError } from '../errors/errors.ts'
import { moduleFolder } from '../lib/package-root.ts'
import { both } from './messages/index.ts'

export const badConfig = (file: string, problem: LocalizedText, cause?: unknown): RetomaError =>
  new RetomaError('bad_config', { file, problem }, { cause })

/** `folder`: the base of the paths in the message. */
export function asConfigError(file: string, folder: string, error: unknown): RetomaError {
  const where = relative(folder, file)
  if (!(error instanceof Error)) return badConfig(where, { en: String(error), pt: String(error) }, error)
  const problem = isRetomaError(error)
    ? both((_, language) => error.in(language))
    : { en: title(error), pt: title(error) }
  return badConfig(placeOf(error, dirname(file), folder) ?? where, problem, error)
}

/** The first line of the message; a syntax error comes without the wrapping of the loader. */
function title(error: Error): string {
  const [line = ''] = error.message.trim().split('\n')
  const text = line.trim()
  return /^\w*Error: /.test(text) ? text : `${error.name}: ${text}`
}

const own = fileURLToPath(moduleFolder)

/** `jobs/hello.ts:12`: the first position in the error below the config's folder, without packages and Retoma itself. */
function placeOf(error: Error, below: string, folder: string): string | undefined {
  for (const line of `${error.message}\n${error.stack}`.split('\n')) {
    // Only the end of a line: an error may quote any text, and the pattern tries every slash.
    const end = line.replace('file://', '').slice(-1000).trimEnd()
    const [, path = '', number] = /(\/[^:]*)(?::(\d+)(?::\d+)?)?\)?$/.exec(end) ?? []
    if (!path.startsWith(`${below}/`) || path.includes('/node_modules/') || path.startsWith(own)) continue
    return number === undefined ? relative(folder, path) : `${relative(folder, path)}:${number}`
  }
  return undefined
}
