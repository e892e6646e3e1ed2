/** The whole classifier over HTTP on the virtual clock: the classifier's own jobs, routes and limits, with the stand-in for the AI. */
import { doorWith } from '../../../test/http/support.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { classifier } from '../index.ts'
import type { OpenRouterOptions } from '../jobs.ts'
import { serverForTest } from './executions.ts'

export async function realDoor(options: Partial<OpenRouterOptions> = {}) {
  const server = await serverForTest()
  const openRouter = { key: server.key, baseUrl: server.baseUrl, model: undefined, ...options }
  const { jobs = [], batches = [], schedules = [], limits = {}, queues, routes, attach } = classifier({ openRouter })
  const door = await doorWith([...jobs], {
    batches: [...batches],
    schedules: [...schedules],
    limits,
    app: { routes: routes ?? [] },
  })
  attach?.(door.engine)
  const { ask } = door
  const project = async (more: object = {}): Promise<string> => {
    const body = { nome: 'Contratos', categorias: ['Contrato', 'Petição Inicial', 'Outros'], ...more }
    return (await ask('POST', '/projetos', { body })).body.id
  }
  return {
    ...door,
    server,
    queues,
    sql: await sqlOn(door),
    project,
    /** Returns the id. A number: this many texts, `D-1` and so on, each about a contract; `more`: fields of the project. */
    async execution(documents: number | readonly string[], more: object = {}): Promise<string> {
      const texts =
        typeof documents === 'number'
          ? Array.from({ length: documents }, (_, n) => `D-${n + 1} é um contrato de locação.`)
          : documents
      const documentos = texts.map((texto, n) => ({ codigo: `doc-${n + 1}`, texto }))
      return (await ask('POST', '/execucoes', { body: { projeto_id: await project(more), documentos } })).body.id
    },
    act: (id: string, action: string, more: object = {}) => ask('POST', `/execucoes/${id}/${action}`, more),
    status: async (id: string) => (await ask('GET', `/execucoes/${id}/status-detalhado`)).body,
  }
}
