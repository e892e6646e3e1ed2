/**
 * Renders the page at /api/docs: the OpenAPI document for people, on a single page without foreign resources: no script, no inline style,
 * links that work under any base path. Every text of the document is escaped.
 */
import type { Language } from '../../errors/errors.ts'
import type { Json, OpenApi, Operation } from '../openapi.ts'
import { type DocsMessages, docsMessages } from './docs-messages.ts'
import { shapeOf } from './schema-text.ts'

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const text = (value: unknown) => String(value).replace(/[&<>"']/g, each => escapes[each]!)
/** Renders text between backquotes as code. */
const prose = (value: unknown) =>
  text(value)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n\n', '<br>')

interface Listed {
  method: string
  path: string
  operation: Operation
}

export function docsPage(document: OpenApi, language: Language): string {
  const word = docsMessages(language)
  const listed: Listed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const tags = document.tags.map(each => each.name)
  return `<!doctype html>
<html lang="${language === 'pt' ? 'pt-BR' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${word.title}</title>
<link rel="stylesheet" href="docs.css">
<nav>
${[...tags, 'schemas'].map(tag => `<a href="#${text(tag)}">${tag === 'schemas' ? word.schemas : text(tag)}</a>`).join('\n')}
</nav>
<main>
<h1>${word.title}</h1>
<p>${text(word.intro)}</p>
<p><a href="openapi.json">${word.raw}</a> <small>${text(document.info.version)}</small></p>
${tags.map(tag => section(tag, listed, word)).join('\n')}
<h2 id="schemas">${word.schemas}</h2>
${Object.entries(document.components.schemas).map(schema).join('\n')}
</main>
</html>
`
}

const section = (tag: string, listed: readonly Listed[], word: DocsMessages) =>
  `<h2 id="${text(tag)}">${text(tag)}</h2>
${listed
  .filter(({ operation }) => operation.tags.includes(tag))
  .map(each => one(each, word))
  .join('\n')}`

const one = ({ method, path, operation }: Listed, word: DocsMessages) => `<details id="${text(operation.operationId)}">
<summary><b class="method ${method}">${method.toUpperCase()}</b><code>${text(path)}</code><span>${prose(operation.summary)}</span></summary>
<div class="inside">
<p>${word.who}: <b>${word.role[operation['x-role']]}</b></p>
${parameters(operation.parameters, word)}${body(operation.requestBody, word)}
<h3>${word.answers}</h3>
<table>
${Object.entries(operation.responses).map(answer).join('\n')}
</table>
</div>
</details>`

function parameters(list: readonly Json[], word: DocsMessages): string {
  // The introduction describes this header for all routes.
  const own = list.filter(each => each.name !== 'Accept-Language')
  const rows = own.map(
    ({ name, in: where, required, description, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${text(where)}</td><td><code>${text(shapeOf(schema as Json))}</code></td>` +
      `<td>${required ? `${word.required} ` : ''}${prose(description ?? '')}</td></tr>`,
  )
  return rows.length === 0 ? '' : `<h3>${word.parameters}</h3>\n<table>\n${rows.join('\n')}\n</table>`
}

function body(given: Json | undefined, word: DocsMessages): string {
  if (given === undefined) return ''
  const mark = given.required ? word.required : word.optional
  return `<h3>${word.body} <small>(${mark})</small></h3>\n${content(given)}`
}

const answer = ([status, about]: [string, Json]) =>
  `<tr><th>${text(status)}</th><td>${prose(about.description)}${Number(status) < 400 ? content(about) : ''}</td></tr>`

const content = ({ content }: Json) =>
  Object.entries((content ?? {}) as Record<string, { schema: Json }>)
    .map(([type, { schema }]) =>
      type === 'application/json' ? `<pre>${text(shapeOf(schema))}</pre>` : ` <code>${text(type)}</code>`,
    )
    .join('')

const schema = ([name, about]: [string, Json]) =>
  `<details id="schema-${text(name)}"><summary><b class="method">{ }</b><code>${text(name)}</code></summary><div class="inside"><pre>${text(shapeOf(about))}</pre></div></details>`
