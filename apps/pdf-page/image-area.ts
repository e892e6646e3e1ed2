/** Measures the images of a page by its operators, without drawing. Pure: pdf.js of any version gives the operators and their numbers. */

/** The numbers of the operators that matter: `OPS` of pdf.js. */
export interface Operations {
  save: number
  restore: number
  transform: number
  paintFormXObjectBegin: number
  paintFormXObjectEnd: number
  paintImageXObject: number
  paintInlineImageXObject: number
  paintImageMaskXObject: number
  paintSolidColorImageMask: number
}

type Matrix = readonly [number, number, number, number]

const mostSaved = 1000

/**
 * Returns the part of a page that images cover, 0 to 1: an image fills the unit square of its matrix. Overlaps count twice, so the part is an
 * upper bound. `page`: the width and the height in the units of the document.
 */
export function imageArea(
  { fnArray: operators, argsArray: operands }: { fnArray: readonly number[]; argsArray: readonly unknown[] },
  page: { width: number; height: number },
  operations: Operations,
): number {
  const { paintImageXObject, paintInlineImageXObject, paintImageMaskXObject, paintSolidColorImageMask } = operations
  const images = [paintImageXObject, paintInlineImageXObject, paintImageMaskXObject, paintSolidColorImageMask]
  let area = 0
  let matrix: Matrix = [1, 0, 0, 1]
  const saved: Matrix[] = []
  const save = () => saved.length < mostSaved && saved.push(matrix)
  const transform = (given: unknown) => {
    const [a, b, c, d] = Array.from((given ?? []) as ArrayLike<number>)
    if (a === undefined || b === undefined || c === undefined || d === undefined) return
    const [e, f, g, h] = matrix
    matrix = [e * a + g * b, f * a + h * b, e * c + g * d, f * c + h * d]
  }
  for (const [index, operator] of operators.entries()) {
    const given = operands[index] as unknown[] | null
    if (operator === operations.save) save()
    else if (operator === operations.restore || operator === operations.paintFormXObjectEnd)
      matrix = saved.pop() ?? matrix
    else if (operator === operations.transform) transform(given)
    else if (operator === operations.paintFormXObjectBegin) {
      save()
      transform(given?.[0])
    } else if (images.includes(operator)) area += Math.abs(matrix[0] * matrix[3] - matrix[1] * matrix[2])
  }
  const part = area / (page.width * page.height)
  return Number.isFinite(part) ? Math.min(part, 1) : 0
}
