/** The classifier for proofs: `retoma up` in a separate process, and a stand-in for OpenRouter with a ledger. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createJiti } from 'jiti'
import { onLeash } from './leash.mjs'
import { until } from './until.mjs'

const jiti = createJiti(import.meta.url)
const { openRouterServer } = await jiti.import('../../apps/classifier/test/openrouter-server.ts')
const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
/** The config of this repository names the classifier. */
const config = fileURLToPath(new URL('../../retoma.config.ts', import.meta.url))
export const final = ['CONCLUIDO', 'ERRO', 'CANCELADO']

/** The AI, the server, and a function that makes executions. `environment`: further variables of the server. */
export async function openClassifier({ room, database, environment = {} }) {
  const ai = await openRouterServer()
  room.atEnd(() => ai.close())
  const start = () => startServer(room, database, ai, environment)
  const house = await start()
  const makeProject = (more = {}) =>
    house.ask('/projetos', {
      method: 'POST',
      body: { nome: 'Prova', categorias: ['Contrato', 'Petição', 'Outros'], ...more },
    })
  const project = await makeProject()
  const follow = ({ id }) => ({ id, status: (at = house) => at.ask(`/execucoes/${id}/status-detalhado`) })
  /** The AI sees the documents as D-`from`, and so on. */
  async function execute(total, { from = 1, of = project } = {}) {
    const documentos = Array.from({ length: total }, (_, n) => ({
      codigo: `doc-${from + n}.txt`,
      texto: `D-${from + n} é um contrato de locação.`,
    }))
    return follow(await house.ask('/execucoes', { method: 'POST', body: { projeto_id: of.id, documentos } }))
  }
  return { ai, house, start, project, makeProject, follow, execute }
}

async function startServer(room, database, ai, environment) {
  let reported = ''
  const leash = onLeash(process.execPath, [cli, 'up', '--config', config], {
    cwd: room.folder,
    env: {
      PATH: process.env.PATH,
      HOME: room.folder,
      LANG: 'en_US.UTF-8',
      DATABASE_URL: database.url,
      PORT: '0',
      RETOMA_SUPERVISE: 'off',
      RETOMA_LIMITS: 'off',
      LOG_LEVEL: 'warn',
      OPENROUTER_API_KEY: ai.key,
      OPENROUTER_BASE_URL: ai.baseUrl,
      ...environment,
    },
    output: text => {
      reported += text
    },
  })
  room.atEnd(() => leash.end())
  await until(() => /http:\/\/[\d.]+:\d+/.test(reported), { seconds: 60, what: 'the address of the server' })
  const [address] = /http:\/\/[\d.]+:\d+/.exec(reported)
  return {
    address,
    async ask(path, { method = 'GET', body } = {}) {
      const isForm = body instanceof FormData
      const response = await fetch(`${address}${path}`, {
        method,
        headers: isForm ? {} : { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    kill() {
      for (const pid of execFileSync('pgrep', ['-P', String(leash.pid)], { encoding: 'utf8' })
        .trim()
        .split('\n')) {
        if (!isCat(pid)) process.kill(Number(pid), 'SIGKILL')
      }
    },
    end: () => leash.end(),
  }
}

const isCat = pid => /\bcat\b/.test(execFileSync('ps', ['-o', 'args=', '-p', pid], { encoding: 'utf8' }))
