/** Prints a JSON Schema for people: `{ items: Batch[], next: string | null }`, with a line per field. */
import type { Json } from '../openapi.ts'

export function shapeOf(schema: Json, indent = ''): string {
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1)!
  const either = (schema.anyOf ?? schema.oneOf) as Json[] | undefined
  if (either) return either.map(each => shapeOf(each, indent)).join(' | ')
  if (Array.isArray(schema.allOf)) return (schema.allOf as Json[]).map(each => shapeOf(each, indent)).join(' & ')
  if (Array.isArray(schema.enum)) return schema.enum.map(each => JSON.stringify(each)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return listOf(shapeOf((schema.items ?? {}) as Json, indent))
  if (schema.type === 'object') return objectOf(schema, indent)
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any']
  return types.map(type => (type === 'string' && schema.format ? schema.format : type)).join(' | ')
}

const listOf = (item: string) => (/[|&\n]/.test(item) ? `(${item})[]` : `${item}[]`)

function objectOf({ properties, required = [], additionalProperties }: Json, indent: string): string {
  const fields = Object.entries((properties ?? {}) as Record<string, Json>)
  const others = typeof additionalProperties === 'object' && additionalProperties !== null
  if (fields.length === 0) return others ? `{ [name]: ${shapeOf(additionalProperties as Json, indent)} }` : 'object'
  const inner = `${indent}  `
  const lines = fields.map(([name, each]) => {
    const mark = (required as string[]).includes(name) ? '' : '?'
    const about = each.description === undefined ? '' : `   // ${each.description}`
    return `${inner}${name}${mark}: ${shapeOf(each, inner)}${about}`
  })
  return `{\n${[...lines, ...(others ? [`${inner}…`] : [])].join('\n')}\n${indent}}`
}
