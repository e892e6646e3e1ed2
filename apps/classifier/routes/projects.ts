/**
 * Creates, lists, changes and removes projects: the question to the AI and the number of attempts. A change counts for later executions.
 */
import { localized, RetomaError } from 'retoma'
import { clockOf, forgetResponses, once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { fold } from '../fold.ts'
import { currency, dollars } from '../money.ts'
import { mostOcrPages } from '../ocr-limits.ts'
import { longestSelection, pageSelectionOf } from '../page-selection.ts'
import { mostExamples } from '../prompt.ts'
import { noProject, type Runs } from '../runs.ts'
import {
  hideProject,
  insertProject,
  listProjects,
  type ProjectFields,
  type ProjectRow,
  readProject,
  updateProject,
} from '../store/projects.ts'
import { oneLine, storable } from '../text.ts'
import { instant, limitUsd, moeda, paginasShown, simulado } from '../wire.ts'
import { idParams, isId, mark, pageFrom, pageOf, pageQuery, placeOf, tag } from './shared.ts'

const line = (most: number) => z.string().overwrite(oneLine).min(1).max(most)

export const categorias = z
  .array(line(100))
  .min(1)
  .max(100)
  .meta({ description: 'they differ in more than case and accents' })

/** Bytes of the body: enough for instructions and categories with every character escaped. */
const largest = 256 * 1024

const retries = z.int().min(0).max(20)

const least = 0.000001

/** A text of zeros is refused as a number that is too small. */
const amount = z
  .string()
  .regex(/^\d{1,7}(?:\.\d{1,6})?$/)
  .superRefine((input, { addIssue }) => {
    if (Number(input) < least) addIssue({ code: 'too_small', origin: 'number', minimum: least, inclusive: true, input })
  })

/** Stored exactly: a text, or a number turned into text; never zero. */
export const limite = z
  .union([z.number().min(least).max(9_999_999), amount])
  .transform(given => (typeof given === 'number' ? given.toFixed(6) : given))
  .nullable()

export const modelo = line(200)

export const instrucoes = z.string().overwrite(storable).max(20_000)

const refusePages = () =>
  new RetomaError('bad_request', {
    field: 'paginas',
    problem: localized(
      `it is a list of pages such as "1-3,7,-1", where -1 is the last page, of at most ${longestSelection} characters`,
      `é uma lista de páginas como "1-3,7,-1", em que -1 é a última, de até ${longestSelection} caracteres`,
    ),
  })

export const paginas = z.string().max(10_000).nullable().meta({
  description:
    'the pages of a PDF or TIFF that count, such as "1-3,7,-1"; a negative number counts from the end; null: all pages',
})

/** The stored form of a choice. Throws bad_request. */
export function pagesOf<T extends string | null | undefined>(given: T): T {
  if (typeof given !== 'string') return given
  const selection = pageSelectionOf(given)
  if (selection === undefined) throw refusePages()
  return selection as T
}

const fields = {
  nome: line(200),
  categorias,
  instrucoes,
  modelo: modelo.nullable(),
  max_retries_execucao: retries,
  max_retries_documento: retries,
  limite_custo_usd: limite.meta({ description: 'a text or a number of dollars above zero; null: no limit' }),
  peso: z.int().min(1).max(100).meta({ description: 'documents of an execution in one of its turns' }),
  revisar_abaixo_de: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .meta({ description: 'an answer with less confidence asks for a review; null: none does' }),
  varias_categorias: z.boolean().meta({ description: 'a document may have several categories' }),
  exemplos: z
    .int()
    .min(0)
    .max(mostExamples)
    .meta({ description: 'how many corrections of a person are shown to the AI as examples, at most' }),
  ocr: z.boolean().meta({ description: 'scanned pages and images are read by OCR' }),
  ocr_max_paginas: z
    .int()
    .min(1)
    .max(mostOcrPages)
    .meta({ description: 'pages of a document that OCR reads at most, within 30 s of processor time' }),
  paginas,
}

const given = z.strictObject({
  ...fields,
  instrucoes: fields.instrucoes.default(''),
  modelo: fields.modelo.default(null),
  max_retries_execucao: retries.default(3),
  max_retries_documento: retries.default(2),
  limite_custo_usd: fields.limite_custo_usd.default(null),
  peso: fields.peso.default(1),
  revisar_abaixo_de: fields.revisar_abaixo_de.default(null),
  exemplos: fields.exemplos.default(0),
  varias_categorias: fields.varias_categorias.default(false),
  ocr: fields.ocr.default(true),
  ocr_max_paginas: fields.ocr_max_paginas.default(mostOcrPages),
  paginas: paginas.default(null),
})

const change = z.strictObject(fields).partial()

const project = z
  .object({
    id: z.string(),
    nome: z.string(),
    categorias: z.array(z.string()),
    instrucoes: z.string(),
    modelo: z.string().nullable().meta({ description: 'null: the one of OPENROUTER_MODEL' }),
    max_retries_execucao: z.number().int(),
    max_retries_documento: z.number().int(),
    limite_custo_usd: limitUsd,
    peso: z.number().int(),
    revisar_abaixo_de: z.number().nullable(),
    exemplos: z.number().int(),
    varias_categorias: z.boolean(),
    ocr: z.boolean(),
    ocr_max_paginas: z.number().int(),
    paginas: paginasShown,
    moeda,
    simulado,
    criado_em: instant,
    atualizado_em: instant,
  })
  .meta({ id: 'Projeto' })

const projectWire = (row: ProjectRow, isSimulated: boolean) => ({
  id: row.id,
  nome: row.name,
  categorias: row.categories,
  instrucoes: row.instructions,
  modelo: row.model,
  max_retries_execucao: row.maxResumes,
  max_retries_documento: row.maxRetries,
  limite_custo_usd: dollars(row.costLimitUsd),
  peso: row.weight,
  revisar_abaixo_de: row.reviewBelow,
  exemplos: row.examples,
  varias_categorias: row.several,
  ocr: row.ocr,
  ocr_max_paginas: row.ocrPages,
  paginas: row.pages,
  moeda: currency,
  simulado: isSimulated,
  criado_em: row.createdAt,
  atualizado_em: row.updatedAt,
})

export function refuseAlike(categories: readonly string[]): void {
  const seen = new Map<string, string>()
  for (const category of categories) {
    const alike = seen.get(fold(category))
    if (alike !== undefined)
      throw new RetomaError('bad_request', {
        field: 'categorias',
        problem: localized(
          `"${alike}" and "${category}" are the same but for case and accents`,
          `"${alike}" e "${category}" só diferem em maiúsculas e acentos`,
        ),
      })
    seen.set(fold(category), category)
  }
}

/** Only the given fields. */
function fieldsOf(body: z.output<typeof change>): Partial<ProjectFields> {
  refuseAlike(body.categorias ?? [])
  const named = {
    name: body.nome,
    categories: body.categorias,
    instructions: body.instrucoes,
    model: body.modelo,
    maxResumes: body.max_retries_execucao,
    maxRetries: body.max_retries_documento,
    costLimitUsd: body.limite_custo_usd,
    weight: body.peso,
    reviewBelow: body.revisar_abaixo_de,
    examples: body.exemplos,
    several: body.varias_categorias,
    ocr: body.ocr,
    ocrPages: body.ocr_max_paginas,
    pages: pagesOf(body.paginas),
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

const known = <T>(found: T | undefined, id: string): T => {
  if (found === undefined) throw noProject(id)
  return found
}

export const projectRoutes = ({ isSimulated }: Runs): readonly Route[] => [
  route({
    method: 'post',
    path: '/projetos',
    name: 'createProject',
    tag,
    summary: 'Creates a project: categories, instructions for the AI, and the number of attempts',
    role: 'operator',
    body: given,
    largest,
    answer: project,
    status: 201,
    makes: 'exactly',
    errors: ['not_found'],
    run(call) {
      const fields = fieldsOf(call.body) as ProjectFields
      return once(call, async tx => {
        const made = await insertProject(tx, fields, clockOf(call.engine).instant())
        return { status: 201, value: projectWire(made, isSimulated) }
      })
    },
  }),
  route({
    method: 'get',
    path: '/projetos',
    name: 'listProjects',
    tag,
    summary:
      'Lists projects, the newest first. A page of large projects may have fewer projects than its limit, although `next` is set',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(project),
    heavy: true,
    async run({ engine, query: { after, limit } }) {
      const { rows, isCut } = await listProjects(engine, placeOf(after), limit + 1)
      const { items, next } = pageFrom(rows, limit, each => each.id)
      return {
        items: items.map(each => projectWire(each, isSimulated)),
        next: isCut ? items.at(-1)!.id : next,
        ...mark(isSimulated),
      }
    },
  }),
  route({
    method: 'get',
    path: '/projetos/{id}',
    name: 'getProject',
    tag,
    summary: 'Gets a project',
    role: 'viewer',
    params: idParams,
    answer: project,
    errors: ['not_found'],
    run: async ({ engine, params: { id } }) =>
      projectWire(known(isId(id) ? await readProject(engine, id) : undefined, id), isSimulated),
  }),
  route({
    method: 'patch',
    path: '/projetos/{id}',
    name: 'changeProject',
    tag,
    summary: 'Changes the given fields of a project; existing executions keep their settings',
    role: 'operator',
    params: idParams,
    body: change,
    largest,
    answer: project,
    errors: ['not_found'],
    run: async ({ engine, params: { id }, body }) =>
      projectWire(known(isId(id) ? await updateProject(engine, id, fieldsOf(body)) : undefined, id), isSimulated),
  }),
  route({
    method: 'delete',
    path: '/projetos/{id}',
    name: 'deleteProject',
    tag,
    summary: 'A project goes, at the latest with the last of its executions, which stay',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, params: { id } }) {
      if (!isId(id)) throw noProject(id)
      // First: after the project is gone, no process would repeat this call.
      await forgetResponses(engine, 'post /projetos', id)
      known((await hideProject(engine, id)) || undefined, id)
    },
  }),
]
