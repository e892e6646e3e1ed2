/** Prints test/sentences.md: every sentence about an execution, in every situation, for reading. */
import { type Explanation, RetomaError } from 'retoma'
import { expect, test } from 'vitest'
import { type Cause, diagnose, type Situation } from './diagnosis.ts'
import { errors, fileErrors } from './errors.ts'
import type { Status } from './status.ts'
import type { Execution } from './store/executions.ts'

const now = new Date('2026-11-16T17:30:00Z')

/** Facts of the errors of a file, as the readers give them. */
const factsOf: Record<string, ConstructorParameters<typeof RetomaError>[1]> = {
  not_a_pdf: { likeness: { en: 'it seems to be an image', pt: 'parece ser uma imagem' } },
  pdf_corrupt: { problem: 'Invalid PDF structure.' },
  pdf_timeout: { seconds: 30 },
  pdf_memory: { megabytes: 512 },
  pdf_crash: { how: { en: 'it was ended by SIGSEGV', pt: 'foi encerrado por SIGSEGV' } },
  file_timeout: { seconds: 30 },
  file_memory: { megabytes: 512 },
  file_crash: { how: { en: 'it was ended by SIGSEGV', pt: 'foi encerrado por SIGSEGV' } },
  file_bomb: { megabytes: 900, most: 200 },
  image_too_large: { megapixels: 400 },
  file_beyond_limits: { problem: { en: 'it has more than 1,000 sheets', pt: 'tem mais de 1.000 planilhas' } },
}

const execution = (status: Status, more: Partial<Execution> = {}): Execution => ({
  id: '7',
  projeto_id: '1',
  projeto: 'Contratos',
  status,
  total: 1200,
  pendentes: 900,
  processando: 20,
  concluidos: 278,
  erros: 2,
  pulados: 0,
  cancelados: 0,
  percentual: 23.3,
  ultimo_heartbeat: null,
  ultimo_codigo_processado: null,
  tentativas_retry: 1,
  max_retries: 3,
  motivo: null,
  custo_usd: '1.250000',
  custo_permitido_usd: '1.255000',
  reaproveitar: false,
  modelo: 'errado/x',
  prioridade: 4,
  peso: 1,
  lote_id: '9',
  origem_id: null,
  criado_por: 'ana',
  criado_em: now,
  concluido_em: null,
  simulado: false,
  ocr_segundos: 0,
  paginas: null,
  segundos_sem_progresso: 420,
  ...more,
})

const explained = (verdict: string, facts: object = {}): Explanation =>
  ({ verdict, sentence: 'x', facts, advice: { action: 'wait', text: 'x', command: null } }) as unknown as Explanation

const one = { total: 1, concluidos: 0, erros: 0 }
const password: Cause = { count: 2, code: 'pdf_encrypted', message: errors.pdf_encrypted.pt }
const silent: Cause = { count: 40, code: 'provider_timeout', message: 'OpenRouter não respondeu em 60 s' }
const unread: Cause = { count: 3, code: 'resumes_spent', message: 'x' }
const waiting = (seconds: number, more: object = {}) => [
  {
    name: 'openrouter',
    until: new Date(now.getTime() + seconds * 1000),
    message: 'OpenRouter respondeu 429: Rate limit exceeded',
    model: null,
    times: 1,
    since: null,
    ...more,
  },
]
const stopped = {
  code: 'provider',
  provider: 'openrouter',
  message: 'OpenRouter se recusa a continuar (status 402): Insufficient credits',
}

const situations: [string, Status, Partial<Execution>, Partial<Situation>][] = [
  ['sem lote ainda', 'PENDENTE', {}, {}],
  ['em andamento', 'EM_ANDAMENTO', {}, { explained: explained('ok', { etaSeconds: 754 }) }],
  ['em andamento, um documento', 'EM_ANDAMENTO', one, { explained: explained('ok') }],
  ['o provedor pediu 30 s', 'EM_ANDAMENTO', {}, { explained: explained('waiting'), waiting: waiting(30) }],
  ['o provedor pediu até amanhã', 'EM_ANDAMENTO', {}, { explained: explained('waiting'), waiting: waiting(12 * 3600) }],
  [
    'o modelo pediu espera muitas vezes',
    'EM_ANDAMENTO',
    {},
    {
      explained: explained('waiting'),
      waiting: waiting(30, { model: 'openai/gpt-4o-mini', times: 7, since: new Date(now.getTime() - 400_000) }),
    },
  ],
  ['nenhum worker', 'PENDENTE', {}, { explained: explained('starved', { eligibleWorkers: { live: 0 } }) }],
  [
    'nenhum worker do classificador',
    'PENDENTE',
    {},
    { explained: explained('starved', { eligibleWorkers: { live: 2 } }) },
  ],
  ['fila pausada', 'EM_ANDAMENTO', {}, { explained: explained('paused') }],
  ['workers mortos', 'EM_ANDAMENTO', {}, { explained: explained('orphan') }],
  ['worker preso', 'EM_ANDAMENTO', {}, { explained: explained('hung') }],
  ['itens travados', 'EM_ANDAMENTO', {}, { explained: explained('stalled') }],
  ['lenta, ou logo depois de um início', 'EM_ANDAMENTO', {}, { explained: explained('slow') }],
  ['limite ao mesmo tempo', 'EM_ANDAMENTO', {}, { explained: explained('limited') }],
  [
    'espera a vez atrás de outras',
    'PENDENTE',
    { total: 5, concluidos: 0, erros: 0 },
    { explained: explained('limited', { turn: { batches: 50, jobs: 250, seconds: 14 } }) },
  ],
  [
    'espera a vez, velocidade desconhecida',
    'PENDENTE',
    one,
    { explained: explained('waiting', { ready: 1, turn: { batches: 1, jobs: 1, seconds: null } }) },
  ],
  [
    'em andamento ao lado de outra',
    'EM_ANDAMENTO',
    {},
    { explained: explained('ok', { turn: { batches: 1, jobs: 920, seconds: 92 } }) },
  ],
  ['na fila', 'PENDENTE', one, { explained: explained('waiting', { ready: 3 }) }],
  [
    'próxima tentativa',
    'EM_ANDAMENTO',
    one,
    { explained: explained('waiting', { ready: 0, dueAt: new Date(now.getTime() + 4200).toISOString() }) },
  ],
  [
    'limite por minuto',
    'EM_ANDAMENTO',
    {},
    {
      explained: explained('waiting', { ready: 0, dueAt: new Date(now.getTime() + 42_000).toISOString() }),
      requestsPerMinute: 20,
    },
  ],
  ['pausada por uma pessoa', 'PAUSADO', { motivo: { code: 'person' } }, {}],
  ['pausada pelo custo', 'PAUSADO', { motivo: { code: 'cost_limit', message: 'x' } }, {}],
  ['pausada pelo provedor', 'PAUSADO', { motivo: stopped }, {}],
  [
    'pausada pelo provedor, que falhou de novo',
    'PAUSADO',
    { motivo: stopped },
    { troubles: [{ name: 'openrouter', message: 'OpenRouter não respondeu em 60 s' }] },
  ],
  [
    'modelo que não existe',
    'PAUSADO',
    { motivo: { code: 'ai_model', message: 'OpenRouter respondeu 404: No endpoints found' } },
    {},
  ],
  ['travada sem worker', 'TRAVADO', { motivo: { code: 'no_worker', stallAfterMs: 300_000 } }, {}],
  [
    'travada em documentos',
    'TRAVADO',
    { motivo: { code: 'stalled', stallAfterMs: 300_000 }, tentativas_retry: 2 },
    { stuck: [{ code: 'a.pdf', step: 'read', worker: 'w-1' }] },
  ],
  [
    'travada no OCR, e depois de trocar um arquivo',
    'TRAVADO',
    { motivo: { code: 'stalled', stallAfterMs: 300_000 } },
    {
      stuck: [
        { code: 'a.pdf', step: 'text', worker: 'w-1' },
        { code: 'b.pdf', step: 'v2 answer 1', worker: 'w-1' },
        { code: 'c.tif', step: 'v12 save ocr', worker: null },
      ],
    },
  ],
  ['concluída', 'CONCLUIDO', { concluidos: 1200, erros: 0 }, {}],
  ['concluída, um documento', 'CONCLUIDO', { ...one, concluidos: 1 }, {}],
  ['concluída, pulados', 'CONCLUIDO', { total: 3, concluidos: 2, erros: 0, pulados: 1 }, {}],
  ['só PDFs com senha', 'CONCLUIDO', { total: 5, concluidos: 3, erros: 2 }, { causes: [password] }],
  ['um PDF com senha', 'CONCLUIDO', { total: 1, concluidos: 0, erros: 1 }, { causes: [{ ...password, count: 1 }] }],
  ...Object.entries(fileErrors).map(([code, error]): (typeof situations)[number] => [
    `arquivo ruim, ${code}`,
    'CONCLUIDO',
    { total: 3, concluidos: 2, erros: 1 },
    { causes: [{ count: 1, code, message: new RetomaError(error, factsOf[code] ?? {}).in('pt') }] },
  ]),
  ['a IA não respondeu', 'CONCLUIDO', { total: 100, concluidos: 60, erros: 40 }, { causes: [silent] }],
  ['causas misturadas', 'CONCLUIDO', { total: 100, concluidos: 58, erros: 42 }, { causes: [silent, password] }],
  ['erro após retomadas', 'ERRO', { total: 45, concluidos: 2, erros: 43 }, { causes: [silent, unread] }],
  ['erro sem retomadas', 'ERRO', { total: 1, concluidos: 0, erros: 1, max_retries: 0 }, { causes: [unread] }],
  ['cancelada', 'CANCELADO', {}, {}],
]

const diagnosed = ([, status, more, given]: (typeof situations)[number]) =>
  diagnose({
    execution: execution(status, more),
    explained: null,
    waiting: [],
    troubles: [],
    stuck: [],
    causes: [],
    requestsPerMinute: undefined,
    now,
    ...given,
  })

test('every sentence of an execution in every situation is the one that was read and found good', async () => {
  const lines = situations.map(each => `- ${each[0]} (${each[1]}): ${diagnosed(each).sentence.pt}`)
  for (const line of lines) expect(line).not.toMatch(/\{\w+\}/)
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./test/sentences.md')
})

test.each(situations)(
  '%s: for a person, in Portuguese: no UTC, no command, no "1 documentos", no decimal point',
  (...each) => {
    const { pt, en } = diagnosed(each).sentence
    expect(pt).not.toMatch(/UTC|\bretoma |--|\/\^|\$\/|\b1 (?:documentos|retomadas|perguntas)\b|US\$ \d+\.\d/)
    // No part is repeated.
    const words = pt.split(/[;:,(]/).map(part => part.trim())
    expect(new Set(words.filter(part => part.length > 12)).size).toBe(words.filter(part => part.length > 12).length)
    expect(en).not.toBe('')
  },
)
