/**
 * Quotes each given description, and prints the checkpoints as they happen and the result:
 * `node examples/quotes/quote.mjs "notebook Dell Inspiron 15" "Toyota Corolla XEi 2.0 2019"`.
 *
 * RETOMA_URL: the server, http://127.0.0.1:3000 by default. RETOMA_TOKEN: a token of `retoma token create`, if the server has tokens.
 */
const server = process.env.RETOMA_URL ?? 'http://127.0.0.1:3000'
const token = process.env.RETOMA_TOKEN
const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }

async function call(path, options = {}) {
  const response = await fetch(`${server}${path}`, { headers, ...options })
  if (response.ok) return response
  const { error } = await response.json()
  throw new Error(error.message)
}

for (const description of process.argv.slice(2)) {
  const made = await call('/api/quotes', { method: 'POST', body: JSON.stringify({ description }) })
  const { id } = await made.json()
  console.log(`${id}: ${description}`)
  for await (const { event, data } of eventsOf(await call(`/api/quotes/${id}/events`)))
    if (event === 'progress') console.log(`  ${data.progress_percentage} % ${data.processing_checkpoint}`)
  const { status, result, prices, error_message } = await (await call(`/api/quotes/${id}`)).json()
  if (status !== 'DONE') console.log(`  ${status}: ${error_message}`)
  else {
    console.log(`  ${result.price ?? 'no price'} ${result.currency}, confidence ${result.confidence}`)
    for (const { price, shop, used } of prices) console.log(`  ${used ? '+' : '-'} ${price} ${shop}`)
  }
}

/** The events of a stream until the end of the quote. */
async function* eventsOf(response) {
  let text = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + piece).split('\n\n')
    text = blocks.pop()
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) }
    }
  }
}
