/** Finds handlers in modules at the start of a worker, and loads handlers where the handlers run. */
import { access, constants } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseDefinition } from '../errors/invalid-option.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { JobContext, JobLog } from '../jobs/model/job-context.ts'
import { asText } from '../lib/values/json.ts'

export type Handler = (context: JobContext, input: never) => unknown
export type Called = (input: unknown, given: { signal: AbortSignal; log: JobLog }) => unknown

type Importer = (href: string) => Promise<unknown>

/** The loader of the command line for configurations, including TypeScript. See src/cli/child-loader.ts. */
export interface Loader {
  importModule: Importer
  findHandler(folder: string, file: string | undefined, kind: string): Promise<Handler>
}

/** Null: the import of Node. */
export const importerOf = async (loader: string | null): Promise<Importer> =>
  loader === null ? nodeImport : ((await import(loader)) as Loader).importModule

const nodeImport: Importer = href => import(href)

/**
 * Imports for an isolated function: plain JavaScript with Node's own import if possible. A loader would compile every imported package at
 * each start of a child.
 */
export async function lightImporterOf(loader: string | null): Promise<Importer> {
  if (loader === null) return nodeImport
  return async href => {
    if (!/\.[cm]?js$/.test(new URL(href).pathname)) return (await importerOf(loader))(href)
    return nodeImport(href).catch(async () => (await importerOf(loader))(href))
  }
}

type Unusable = (problem: LocalizedText, options?: ErrorOptions) => RetomaError

/** Throws `handler_unusable` with the file name. */
export const loadHandler = (kind: string, href: string, importer: Importer): Promise<Handler> =>
  loadFunction(href, importer, '(ctx, input)', (problem, options) => {
    return new RetomaError('handler_unusable', { kind, file: fileURLToPath(href), problem }, options)
  })

/** Loads an isolated function. Throws `isolated_unusable` with the file name. */
export const loadCalled = (step: string, href: string, importer: Importer): Promise<Called> =>
  loadFunction(href, importer, '(input, { signal, log })', (problem, options) => {
    return new RetomaError('isolated_unusable', { step, file: fileURLToPath(href), problem }, options)
  })

async function loadFunction<Loaded>(href: string, importer: Importer, takes: string, unusable: Unusable) {
  let module: Record<string, unknown>
  try {
    module = (await importer(href)) as Record<string, unknown>
  } catch (error) {
    throw unusable(localized(asText(error), asText(error)), { cause: error })
  }
  const whole = module.default as Record<string, unknown> | undefined
  // A CommonJS module is the default export, whatever its type.
  const found = [module.default, module.run, whole?.default, whole?.run].find(each => typeof each === 'function')
  if (found === undefined)
    throw unusable(
      localized(
        `it exports no function: export default async ${takes} => …`,
        `não exporta uma função: export default async ${takes} => …`,
      ),
    )
  return found as Loaded
}

/** Reports a missing file at the start of the worker, instead of in every job. */
export async function checkHandlers(jobs: Iterable<AnyJob>): Promise<void> {
  for (const { kind, handler } of jobs) {
    if (handler === null) continue
    const file = fileURLToPath(handler)
    await access(file, constants.R_OK).catch(() =>
      refuseDefinition(localized(`the job "${kind}"`, `job "${kind}"`))(
        `there is no handler that can be read at ${file}`,
        `não há um handler que se possa ler em ${file}`,
      ),
    )
  }
}
