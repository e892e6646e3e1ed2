/**
 * How a child of a worker that was started from a retoma.config finds its handlers: in that config, by kind, and in modules
 * that only its loader can read. Loaded by address, in the child (src/isolation/handler.ts).
 */
import { fileURLToPath } from 'node:url'
import { RetomaError, say } from '../errors.ts'
import { type Handler, type Loader, loadHandler } from '../isolation/handler.ts'
import { importModule as importFile, loadConfig } from './config.ts'

export const importModule: Loader['importModule'] = href => importFile(fileURLToPath(href))

export async function findHandler(folder: string, file: string, kind: string): Promise<Handler> {
  const { jobs } = await loadConfig({ folder, configFile: file })
  const job = jobs.find(each => each.kind === kind)
  if (job === undefined) {
    const problem = say('it has no such job any more', 'não tem mais esse job')
    throw new RetomaError('handler_unusable', { kind, file, problem })
  }
  return job.run ?? loadHandler(kind, job.handler!, importModule)
}
