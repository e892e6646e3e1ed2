/** A small line of recent values without axes. `label` says in words what the line shows. */
interface SparklineProps {
  label: string
  values: readonly (number | null)[]
  width?: number
  height?: number
}

export function Sparkline({ label, values, width = 96, height = 24 }: SparklineProps) {
  const known = values.filter(value => value !== null)
  const largest = Math.max(1, ...known)
  const x = (index: number) => (values.length < 2 ? 0 : (index / (values.length - 1)) * width)
  const y = (value: number) => height - 1 - (value / largest) * (height - 3)
  const points = values.flatMap((value, index) =>
    value === null ? [] : [`${x(index).toFixed(1)},${y(value).toFixed(1)}`],
  )
  return (
    <svg
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      class="block max-w-full"
    >
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} class="stroke-line" />
      {points.length > 1 && (
        <>
          <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} class="fill-accent-soft" />
          <polyline
            points={points.join(' ')}
            fill="none"
            class="stroke-accent"
            stroke-width="1.25"
            stroke-linejoin="round"
          />
        </>
      )}
    </svg>
  )
}
