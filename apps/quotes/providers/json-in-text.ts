/** Finds the first JSON object in the text of a model: alone, in a code fence, or between sentences. Each character is read at most twice. */

/** undefined: no object. */
export function findObject(text: string): Record<string, unknown> | undefined {
  let from = text.indexOf('{')
  // A brace in a sentence is no object; a few are tried.
  for (let tries = 0; from >= 0 && tries < 20; tries++) {
    const end = endOfObject(text, from)
    if (end > 0) {
      const value = parsedObject(text.slice(from, end))
      if (value !== undefined) return value
    }
    from = text.indexOf('{', from + 1)
  }
  return undefined
}

/** The position after the brace that closes the object; 0: the object is cut. */
function endOfObject(text: string, from: number): number {
  let depth = 0
  let isInString = false
  for (let at = from; at < text.length; at++) {
    const each = text[at]
    if (isInString) {
      if (each === '\\') at++
      else if (each === '"') isInString = false
    } else if (each === '"') isInString = true
    else if (each === '{') depth++
    else if (each === '}' && --depth === 0) return at + 1
  }
  return 0
}

function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}
