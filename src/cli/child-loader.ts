/**
 * Finds the handlers in a child of a worker that the command line started: by kind, in the retoma.config or in a system, and in
 * modules that only the config's loader can read. The child loads this file by address (src/isolation/handler-module.ts).
 */
import { fileURLToPath } from 'node:url'
import { localized, RetomaError } from '../errors/errors.ts'
import { type Handler, type Loader, loadHandler } from '../isolation/handler-module.ts'
import { moduleFolder } from '../lib/package-root.ts'
import { loadApps } from './load-apps.ts'

/** The folder of Retoma's own modules, which Node loads directly: a loader would compile their imports again in every child. */
const ours = moduleFolder.href

export const importModule: Loader['importModule'] = async href =>
  href.startsWith(ours) ? import(href) : (await import('../module-loader.ts')).importModule(fileURLToPath(href))

export async function findHandler(folder: string, file: string | undefined, kind: string): Promise<Handler> {
  const { jobs } = await loadApps({ folder, configFile: file })
  const job = jobs.find(each => each.kind === kind)
  if (job === undefined) {
    const problem = localized('it has no such job any more', 'não tem mais esse job')
    throw new RetomaError('handler_unusable', { kind, file: file ?? folder, problem })
  }
  return job.run ?? loadHandler(kind, job.handler!, importModule)
}
