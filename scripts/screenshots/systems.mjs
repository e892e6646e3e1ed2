/** The work of the five systems in the pictures, through their HTTP routes and with simulated providers. */

import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { inRoot } from '../lib/paths.mjs'

const sharp = createRequire(inRoot('apps', 'snaps', 'package.json'))('sharp')

const texts = [
  [
    'contrato-de-locacao',
    'Contrato de locação: o locador cede ao locatário o imóvel pelo prazo de doze meses, conforme este contrato.',
  ],
  [
    'peticao-inicial',
    'Petição inicial: o autor vem propor a presente ação de cobrança. Esta petição inicial requer a citação do réu.',
  ],
  [
    'procuracao',
    'Procuração: pelo presente instrumento nomeio meu procurador. A procuração vale para o foro em geral.',
  ],
  ['recibo', 'Recibo: recebi a importância de mil reais, da qual dou recibo e plena quitação.'],
  ['ata-de-reuniao', 'Reunião de terça-feira: presentes cinco pessoas; discutiu-se a agenda do mês.'],
  ['digitalizacao', ''],
]

const until = async (look, every = 200) => {
  for (let turns = 0; turns < 300; turns++) {
    const found = await look()
    if (found) return found
    await pause(every)
  }
  throw new Error(`never: ${look}`)
}

/** A soft picture, as a photo has large areas. */
const photo = (seed, width, height) => {
  const bytes = Buffer.from(
    Array.from({ length: 8 * 6 * 3 }, (_, n) => Math.abs(Math.sin((n + 1) * (seed + 3)) * 255) & 255),
  )
  return sharp(bytes, { raw: { width: 8, height: 6, channels: 3 } })
    .resize(width, height, { fit: 'fill' })
    .jpeg()
    .toBuffer()
}

const formWith = (field, bytes, name, type) => {
  const form = new FormData()
  form.append(field, new File([bytes], name, { type }))
  return form
}

const pdf = lines => {
  const content = `BT /F1 14 Tf 60 780 Td 20 TL ${lines.map(line => `(${line}) '`).join(' ')} ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${Buffer.byteLength(content, 'latin1')} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ]
  let text = '%PDF-1.4\n'
  const places = objects.map((object, n) => {
    const at = text.length
    text += `${n + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const table = places.map(at => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF`
  return Buffer.from(text, 'latin1')
}

export async function useSystems({ ask }) {
  const project = await ask('POST', '/projetos', {
    nome: 'Acervo do escritório',
    categorias: ['Contrato', 'Petição inicial', 'Procuração', 'Recibo', 'Outros'],
    instrucoes: 'Um aditivo conta como contrato.',
  })
  await ask('POST', '/projetos', { nome: 'Processos trabalhistas', categorias: ['Sentença', 'Recurso', 'Acordo'] })
  const documentos = Array.from({ length: 240 }, (_, n) => {
    const [name, texto] = texts[n % texts.length]
    return { codigo: `${name}-${String(n + 1).padStart(3, '0')}.txt`, texto }
  })
  const execution = await ask('POST', '/execucoes', { projeto_id: project.id, documentos })
  await until(async () => (await ask('GET', `/execucoes/${execution.id}`)).status === 'CONCLUIDO')

  const product = await ask('POST', '/api/quotes', { description: 'Notebook Dell Inspiron 15, 16 GB, SSD de 512 GB' })
  for (const description of [
    'Cadeira de escritório ergonômica com apoio de braço',
    'Impressora laser HP 107w',
    'Fiat Strada Freedom 1.3 2023',
  ])
    await ask('POST', '/api/quotes', { description, ...(description.startsWith('Fiat') ? { kind: 'vehicle' } : {}) })
  await until(async () => ['DONE', 'ERROR'].includes((await ask('GET', `/api/quotes/${product.id}`)).status), 500)

  const people = ['Ana', 'Bia', 'Caio', 'Davi', 'Eva', 'Fábio', 'Gil', 'Helena'].map(name => ({ name }))
  const shifts = [
    { name: 'Manhã', start: '07:00', end: '15:00' },
    { name: 'Tarde', start: '15:00', end: '23:00' },
    { name: 'Noite', start: '23:00', end: '07:00' },
  ]
  const demand = [
    { shift: 'Manhã', people: 2 },
    { shift: 'Tarde', people: 2 },
    { shift: 'Noite', people: 1 },
  ]
  const schedule = await ask('POST', '/api/planner/generate-schedule', {
    start: '2030-03-04',
    days: 7,
    people,
    shifts,
    demand,
    rules: { max_nights_per_week: 3 },
  })
  const short = await ask('POST', '/api/planner/generate-schedule', {
    start: '2030-03-04',
    days: 7,
    people: people.slice(0, 4),
    shifts,
    demand,
  })
  const visits = ['data;hora;visitas']
  for (let day = 2; day <= 15; day++)
    for (let hour = 8; hour <= 20; hour++)
      visits.push(
        `${String(day).padStart(2, '0')}/03/2026;${String(hour).padStart(2, '0')}:00;${Math.round(20 + 15 * Math.sin(hour / 3) + (day % 7) * 3)}`,
      )
  const demandJob = await ask(
    'POST',
    '/api/planner/extract-demand',
    formWith('file', visits.join('\n'), 'visitas.csv', 'text/csv'),
  )

  for (const [n, [width, height]] of [
    [1200, 800],
    [800, 1200],
    [1600, 900],
    [640, 640],
    [1024, 768],
    [900, 1600],
    [1400, 700],
  ].entries())
    await ask('POST', '/api/snaps', formWith('image', await photo(n, width, height), `foto-${n + 1}.jpg`, 'image/jpeg'))
  await ask(
    'POST',
    '/api/snaps',
    formWith('image', (await photo(9, 900, 600)).subarray(0, 700), 'cortada.jpg', 'image/jpeg'),
  ).catch(() => {})

  const letters = [
    [
      'contrato-de-locacao.pdf',
      ['CONTRATO DE LOCACAO', '', 'O locador cede ao locatario o imovel', 'pelo prazo de doze meses.'],
    ],
    ['nota-fiscal-4021.pdf', ['NOTA FISCAL 4021', '', 'Total: R$ 1.284,50']],
    ['ata-da-assembleia.pdf', ['ATA DA ASSEMBLEIA', '', 'Aos dez dias do mes de marco']],
  ]
  let document
  for (const [name, lines] of letters) {
    const { id } = await ask('POST', '/api/documents', formWith('file', pdf(lines), name, 'application/pdf'))
    document ??= id
  }
  await ask(
    'POST',
    '/api/documents',
    formWith('file', Buffer.from('%PDF-1.4\nquebrado'), 'quebrado.pdf', 'application/pdf'),
  ).catch(() => {})
  await until(async () => (await ask('GET', `/api/documents/${document}`)).status === 'DONE')
  const sync = await ask('POST', '/api/open-finance/sync', {})
  await until(async () =>
    /DONE|COMPLETED|SUCCEEDED|PARTIAL|FAILED/.test((await ask('GET', `/api/open-finance/syncs/${sync.id}`)).status),
  )
  return {
    project: project.id,
    execution: execution.id,
    quote: product.id,
    schedule: schedule.id,
    short: short.id,
    demand: demandJob.id,
    document,
  }
}
