/** Handlers in modules: found when a worker starts, loaded where they run. */
import { access, constants } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { JobContext } from '../core/context.ts'
import type { AnyJob } from '../core/job.ts'
import { asText } from '../core/json.ts'
import { refuseDefinition } from '../core/refuse.ts'
import { RetomaError, type Saying, say } from '../errors.ts'

export type Handler = (context: JobContext, input: never) => unknown

type Importer = (href: string) => Promise<unknown>

/** What the command line loads configurations with: TypeScript too. See src/cli/child-loader.ts. */
export interface Loader {
  importModule: Importer
  findHandler(folder: string, file: string | undefined, kind: string): Promise<Handler>
}

/** Undefined loader: as Node does it. */
export const importerOf = async (loader: string | null): Promise<Importer> =>
  loader === null ? href => import(href) : ((await import(loader)) as Loader).importModule

/** Throws handler_unusable, which names the file. */
export async function loadHandler(kind: string, href: string, importer: Importer): Promise<Handler> {
  const unusable = (problem: Saying, options: ErrorOptions = {}) =>
    new RetomaError('handler_unusable', { kind, file: fileURLToPath(href), problem }, options)
  let module: Record<string, unknown>
  try {
    module = (await importer(href)) as Record<string, unknown>
  } catch (error) {
    throw unusable(say(asText(error), asText(error)), { cause: error })
  }
  const whole = module.default as Record<string, unknown> | undefined
  // A CommonJS module is the default export, whatever it is.
  const found = [module.default, module.run, whole?.default, whole?.run].find(each => typeof each === 'function')
  if (found === undefined)
    throw unusable(
      say(
        'it exports no function: export default async (ctx, input) => …',
        'não exporta uma função: export default async (ctx, input) => …',
      ),
    )
  return found as Handler
}

/** A file that is not there is told when the worker starts, not by each of its jobs. */
export async function checkHandlers(jobs: Iterable<AnyJob>): Promise<void> {
  for (const { kind, handler } of jobs) {
    if (handler === null) continue
    const file = fileURLToPath(handler)
    await access(file, constants.R_OK).catch(() =>
      refuseDefinition(say(`the job "${kind}"`, `job "${kind}"`))(
        `there is no handler that can be read at ${file}`,
        `não há um handler que se possa ler em ${file}`,
      ),
    )
  }
}
