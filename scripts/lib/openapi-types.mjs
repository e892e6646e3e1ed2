/**
 * Writes TypeScript types from an OpenAPI 3.1 document: one interface for each named schema, and `Operations` with the parameters, the
 * body and the answer of each route. The usual generator needs the JavaScript API of TypeScript 5, which TypeScript 7 has not.
 */

/** The text of the module. */
export function typesOf({ paths, components }) {
  const named = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${nameOf(name)} = ${typeOf(schema, '')}\n`,
  )
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(method, path, operation)),
  )
  return `/** The types of the HTTP API, printed from its OpenAPI document by \`npm run docs\`; change the routes instead. */

${named.join('\n')}
export interface Operations {
${operations.join('')}}
`
}

const nameOf = name => name[0].toUpperCase() + name.slice(1)

function operationOf(method, path, { summary, parameters, requestBody, responses, 'x-role': role }) {
  const ofPlace = place => parameters.filter(each => each.in === place)
  const body = requestBody?.content['application/json']?.schema
  const answer = Object.entries(responses).find(([status]) => /^2/.test(status))?.[1]
  const json = answer?.content?.['application/json']?.schema
  const fields = [
    `    role: '${role}'`,
    ...(ofPlace('path').length > 0 ? [`    params: ${parametersType(ofPlace('path'))}`] : []),
    ...(ofPlace('query').length > 0 ? [`    query: ${parametersType(ofPlace('query'))}`] : []),
    ...(body === undefined ? [] : [`    body: ${typeOf(body, '    ')}`]),
    `    answer: ${json === undefined ? (answer?.content === undefined ? 'undefined' : 'unknown') : typeOf(json, '    ')}`,
  ]
  return `  /** ${summary} */\n  '${method.toUpperCase()} ${path}': {\n${fields.join('\n')}\n  }\n`
}

const parametersType = list =>
  `{ ${list.map(({ name, required, schema }) => `${key(name)}${required ? '' : '?'}: ${typeOf(schema, '    ')}`).join('; ')} }`

const key = name => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

function typeOf(schema, indent) {
  if (schema === true || schema === undefined || Object.keys(schema).length === 0) return 'unknown'
  if (schema.$ref !== undefined) return nameOf(schema.$ref.split('/').at(-1))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(each => JSON.stringify(each)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(each => typeOf(each, indent)))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map(each => `(${typeOf(each, indent)})`).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type }, indent)).join(' | ')
  return ofType(schema, indent)
}

function ofType(schema, indent) {
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return `(${typeOf(schema.items, indent)})[]`
    case 'object':
      return objectType(schema, indent)
    default:
      return 'unknown'
  }
}

function objectType({ properties, required = [], additionalProperties }, indent) {
  const isRecord = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
  if (properties === undefined || Object.keys(properties).length === 0)
    return isRecord ? `{ [name: string]: ${typeOf(additionalProperties, indent)} }` : 'Record<string, unknown>'
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment =
      schema.description === undefined ? '' : `${inner}/** ${schema.description.replaceAll('*/', '* /')} */\n`
    return `${comment}${inner}${key(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}
