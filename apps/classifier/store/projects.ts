/**
 * Stores projects. A change counts for later executions: an execution has a copy of the settings in the row (store/runs.ts).
 *
 * Invariant: a project with executions is hidden and not removed; the last erased execution removes the project.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'

/** Money is a text. */
export interface ProjectFields {
  name: string
  categories: readonly string[]
  instructions: string
  model: string | null
  maxResumes: number
  maxRetries: number
  costLimitUsd: string | null
  /** Documents in one turn of an execution. */
  weight: number
  /** An answer with less confidence asks for a review; null: none does. */
  reviewBelow: number | null
  /** A document may have several categories. */
  several: boolean
  /** The largest number of corrections shown to the AI as examples. */
  examples: number
  ocr: boolean
  ocrPages: number
  /** The choice of pages (page-selection.ts); null: all pages. */
  pages: string | null
}

export interface ProjectRow extends ProjectFields {
  id: string
  createdAt: Date
  updatedAt: Date
}

type Home = Engine

const columns = `
  id::text as id, name, categories, instructions, model, max_resumes as "maxResumes", max_retries as "maxRetries",
  cost_limit_usd::text as "costLimitUsd", weight, review_below::float8 as "reviewBelow", examples, several, ocr,
  ocr_pages as "ocrPages", pages, created_at as "createdAt", updated_at as "updatedAt"`

const valuesOf = ({
  name,
  categories,
  instructions,
  model,
  maxResumes,
  maxRetries,
  costLimitUsd,
  weight,
  reviewBelow,
  examples,
  several,
  ocr,
  ocrPages,
  pages,
}: ProjectFields): unknown[] => [
  name,
  categories,
  instructions,
  model,
  maxResumes,
  maxRetries,
  costLimitUsd,
  weight,
  reviewBelow,
  examples,
  several,
  ocr,
  ocrPages,
  pages,
]

const insert = `
  insert into classifier.project
    (name, categories, instructions, model, max_resumes, max_retries, cost_limit_usd, weight, review_below, examples, several,
      ocr, ocr_pages, pages, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7::numeric, $8, $9::numeric, $10, $11, $12, $13, $14, coalesce($15::timestamptz, now()),
    coalesce($15::timestamptz, now()))
  returning ${columns}`

export async function insertProject(tx: JobTransaction, fields: ProjectFields, now: Date | null): Promise<ProjectRow> {
  return (await tx.query<ProjectRow>(insert, [...valuesOf(fields), now])).rows[0]!
}

const one = `select ${columns} from classifier.project where id = $1 and deleted_at is null`

export async function readProject(home: Pick<Home, 'query'>, id: string): Promise<ProjectRow | undefined> {
  return (await home.query<ProjectRow>(one, [id])).rows[0]
}

/** Bytes of instructions and categories in a page of projects; the last project of a page may exceed the number. */
const mostBytes = 1_000_000

const list = `
  select ${columns}, shown < found as "isCut"
  from (
    select p.*, count(*) over () as shown
    from (
      select p.*, count(*) over () as found,
        sum(octet_length(p.instructions) + octet_length(p.categories::text))
          over (order by p.id desc rows between unbounded preceding and 1 preceding) as bytes_before
      from (
        select * from classifier.project
        where deleted_at is null and id < $1
        order by id desc
        limit $2
      ) p
    ) p
    where coalesce(p.bytes_before, 0) < ${mostBytes}
  ) p
  order by p.id desc`

/** The newest first. `isCut`: the rows are so large that there are fewer than `limit`, and more follow. */
export async function listProjects(
  home: Pick<Home, 'query'>,
  after: string,
  limit: number,
): Promise<{ rows: ProjectRow[]; isCut: boolean }> {
  const { rows } = await home.query<ProjectRow & { isCut: boolean }>(list, [after, limit])
  return { rows, isCut: rows[0]?.isCut ?? false }
}

const locked = `
  select ${columns} from classifier.project
  where id = $1 and deleted_at is null
  for update`

const update = `
  update classifier.project
  set name = $1, categories = $2, instructions = $3, model = $4, max_resumes = $5, max_retries = $6,
    cost_limit_usd = $7::numeric, weight = $8, review_below = $9::numeric, examples = $10, several = $11, ocr = $12,
    ocr_pages = $13, pages = $14, updated_at = coalesce($16::timestamptz, now())
  where id = $15
  returning ${columns}`

/** Two concurrent changes of different fields both count. */
export function updateProject(home: Home, id: string, change: Partial<ProjectFields>): Promise<ProjectRow | undefined> {
  return home.transaction(async tx => {
    const [before] = (await tx.query<ProjectRow>(locked, [id])).rows
    if (before === undefined) return undefined
    const values = [...valuesOf({ ...before, ...change }), id, clockOf(home).instant()]
    return (await tx.query<ProjectRow>(update, values)).rows[0]
  })
}

const hide = `
  update classifier.project set deleted_at = coalesce($2::timestamptz, now()) where id = $1`

const remove = `
  delete from classifier.project p
  where id = $1 and deleted_at is not null
    and not exists (select from classifier.run r where r.project_id = p.id)`

/** False: the project did not exist. */
export function hideProject(home: Home, id: string): Promise<boolean> {
  return home.transaction(async tx => {
    if ((await tx.query(locked, [id])).rows.length === 0) return false
    await tx.query(hide, [id, clockOf(home).instant()])
    await removeHidden(tx, id)
    return true
  })
}

const lock = `select from classifier.project where id = $1 for update`

/** Removes a hidden project without executions. Locks the project first, so a concurrent new execution is seen. */
export async function removeHidden(tx: JobTransaction, id: string): Promise<void> {
  await tx.query(lock, [id])
  await tx.query(remove, [id])
}
