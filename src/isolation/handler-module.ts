/**
 * Finds handlers in modules at the start of a worker, and loads handlers where the handlers run.
 *
 * Invariant: a definition names its module once, and the name holds for the sources (`tsx`, a test runner) and for the build: if the named
 * file does not exist, the file with the extension of the other form is the module.
 */
import { access, constants } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseDefinition } from '../errors/invalid-option.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { JobContext, JobLog } from '../jobs/model/job-context.ts'
import { builtModule } from '../lib/package-root.ts'
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

/** Compiles TypeScript only if this process cannot load it: `tsx`, Bun, Deno and newer versions of Node can. */
const nodeImport: Importer = async href => {
  try {
    return await import(href)
  } catch (error) {
    if (!isTypeScript(href) || !isBeforeEvaluation(error)) throw error
    return ((await import(compilingLoader.href)) as { importModule: (file: string) => Promise<unknown> }).importModule(
      fileURLToPath(href),
    )
  }
}

// By address, because the loader imports the whole library.
const compilingLoader = builtModule('module-loader.js')

const isTypeScript = (href: string): boolean => /\.[cm]?ts$/.test(new URL(href).pathname)

/** The module graph could not be read or linked. No module of the graph has run, so that a second load repeats nothing. */
const isBeforeEvaluation = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  /^ERR_(UNKNOWN_FILE_EXTENSION|MODULE_NOT_FOUND|UNSUPPORTED_DIR_IMPORT|INVALID_TYPESCRIPT_SYNTAX|UNSUPPORTED_TYPESCRIPT_SYNTAX)$/.test(
    String((error as { code?: unknown } | null)?.code),
  )

/** The extension of a source, and of the file that the compiler makes of the source; and the reverse. */
const otherForm: Readonly<Record<string, string>> = {
  '.js': '.ts',
  '.mjs': '.mts',
  '.cjs': '.cts',
  '.ts': '.js',
  '.mts': '.mjs',
  '.cts': '.cjs',
}

/** Returns the address of the file that exists: the named file, else its other form. Undefined if neither can be read. */
async function existingModule(href: string): Promise<string | undefined> {
  const other = new URL(href)
  const extension = extname(other.pathname)
  other.pathname =
    other.pathname.slice(0, other.pathname.length - extension.length) + (otherForm[extension] ?? extension)
  for (const each of [href, other.href]) {
    const isReadable = await access(fileURLToPath(each), constants.R_OK).then(
      () => true,
      () => false,
    )
    if (isReadable) return each
  }
  return undefined
}

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
    module = (await importer((await existingModule(href)) ?? href)) as Record<string, unknown>
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
    if ((await existingModule(handler)) !== undefined) continue
    const file = fileURLToPath(handler)
    refuseDefinition(localized(`the job "${kind}"`, `job "${kind}"`))(
      `there is no handler that can be read at ${file}`,
      `não há um handler que se possa ler em ${file}`,
    )
  }
}
