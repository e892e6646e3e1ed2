/** The pages and states of the pictures. `state`: the server of world.mjs; `act`: what a person does before the picture. */
const press = (page, name) => page.getByRole('button', { name }).first().click()
const tab = (page, name) => page.getByRole('tab', { name }).click()

const logIn = async (page, world) => {
  await page.getByLabel('Token').fill(world.facts.token)
  await press(page, 'Entrar')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForTimeout(800)
}

export const everyPage = [
  { name: 'overview-trouble', path: '/' },
  { name: 'overview-calm', path: '/', state: 'calm' },
  { name: 'overview-empty', path: '/', state: 'empty' },
  { name: 'batches', path: '/batches' },
  { name: 'batches-empty', path: '/batches', state: 'empty' },
  { name: 'batch-stalled', path: facts => `/batches/${facts.stalled}` },
  { name: 'batch-failures', path: facts => `/batches/${facts.mixed}` },
  { name: 'batch-aggregated', path: facts => `/batches/${facts.letters}` },
  { name: 'batch-running', path: facts => `/batches/${facts.running}`, state: 'calm' },
  { name: 'batch-confirm', path: facts => `/batches/${facts.mixed}`, act: page => press(page, /Tentar estes de novo/) },
  { name: 'jobs', path: '/jobs' },
  { name: 'jobs-failed', path: '/jobs?state=failed' },
  { name: 'jobs-empty', path: '/jobs', state: 'empty' },
  { name: 'jobs-none', path: '/jobs?ref=nada-disto' },
  { name: 'job-done', path: facts => `/jobs/${facts.closed}` },
  { name: 'job-data', path: facts => `/jobs/${facts.closed}`, act: page => tab(page, 'Dados') },
  { name: 'job-logs', path: facts => `/jobs/${facts.closed}`, act: page => tab(page, /Log|Linhas/) },
  { name: 'job-running', path: facts => `/jobs/${facts.slow}` },
  { name: 'job-failed', path: facts => `/jobs/${facts.failed}` },
  { name: 'queues', path: '/queues' },
  { name: 'queues-empty', path: '/queues', state: 'empty' },
  { name: 'queue', path: '/queues/invoices' },
  { name: 'queue-limits', path: '/queues/invoices', act: page => press(page, /Editar os limites/) },
  { name: 'workers', path: '/workers' },
  { name: 'workers-empty', path: '/workers', state: 'empty' },
  { name: 'schedules', path: '/schedules' },
  { name: 'schedule-times', path: '/schedules/relatorio-diario' },
  { name: 'jobs-between', path: '/jobs?after=2026-01-01T08:00' },
  {
    name: 'guards',
    path: '/guards',
    async act(page, { servers }) {
      await servers.work.engine.query(
        "insert into orders (status, updated_at) select 'PROCESSING', now() - interval '1 hour' * n from generate_series(1, 4) n",
      )
      await press(page, 'Simular: pedidos')
    },
  },
  { name: 'guards-empty', path: '/guards', state: 'empty' },
  { name: 'providers', path: '/providers' },
  { name: 'providers-empty', path: '/providers', state: 'empty' },
  { name: 'incidents', path: '/incidents' },
  { name: 'incidents-empty', path: '/incidents', state: 'empty' },
  { name: 'login', path: '/', state: 'locked' },
  { name: 'tokens', path: '/tokens', state: 'locked', act: logIn },
  { name: 'tokens-empty', path: '/tokens', state: 'empty' },
  { name: 'settings', path: '/settings' },
  { name: 'not-found', path: '/jobs/999999999' },
  { name: 'no-page', path: '/batches/1/nothing' },
  {
    name: 'palette',
    path: '/',
    async act(page) {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'menu',
    path: '/',
    act: page => (page.viewportSize().width < 900 ? press(page, /menu/i) : undefined),
  },
  {
    name: 'toast',
    path: '/schedules',
    act: page => press(page, 'Executar agora: limpar-arquivos'),
  },
  {
    name: 'disconnected',
    path: '/',
    state: 'leaving',
    async act(page, { servers }) {
      servers.leaving.stop()
      await page.waitForTimeout(2500)
    },
    after: ({ servers }) => servers.leaving.start(),
  },
  { name: 'classifier', path: '/classificador/' },
  { name: 'classifier-empty', path: '/classificador/', state: 'empty' },
  { name: 'classifier-projects', path: '/classificador/', act: page => tab(page, 'Projetos') },
  { name: 'classifier-new', path: '/classificador/nova' },
  { name: 'classifier-execution', path: facts => `/classificador/execucoes/${facts.execution}` },
  {
    name: 'classifier-errors',
    path: facts => `/classificador/execucoes/${facts.execution}`,
    act: page => tab(page, /Erros/),
  },
  { name: 'quotes', path: '/cotacoes/' },
  { name: 'quotes-empty', path: '/cotacoes/', state: 'empty' },
  { name: 'quote', path: facts => `/cotacoes/${facts.quote}` },
  { name: 'planner', path: '/planejador/' },
  { name: 'planner-empty', path: '/planejador/', state: 'empty' },
  { name: 'planner-new', path: '/planejador/', act: page => press(page, 'Nova escala') },
  { name: 'planner-schedule', path: facts => `/planejador/${facts.schedule}` },
  { name: 'planner-short', path: facts => `/planejador/${facts.short}` },
  { name: 'planner-demand', path: facts => `/planejador/${facts.demand}` },
  { name: 'snaps', path: '/snaps/' },
  { name: 'snaps-empty', path: '/snaps/', state: 'empty' },
  { name: 'documents', path: '/documentos/' },
  { name: 'documents-empty', path: '/documentos/', state: 'empty' },
  { name: 'document', path: facts => `/documentos/${facts.document}` },
  { name: 'bank', path: '/documentos/', act: page => tab(page, 'Contas') },
  { name: 'bank-empty', path: '/documentos/', state: 'empty', act: page => tab(page, 'Contas') },
]

/** The pictures of the README and of docs/dashboard.md. */
export const documentedPages = [
  { name: 'overview', path: '/' },
  { name: 'overview-en', path: '/', locale: 'en-US' },
  { name: 'batch', path: facts => `/batches/${facts.stalled}` },
  { name: 'job', path: facts => `/jobs/${facts.closed}` },
  { name: 'queue', path: '/queues/invoices', state: 'calm' },
  { name: 'classifier', path: facts => `/classificador/execucoes/${facts.execution}` },
]
