/** A turning mark beside a text that says what is under way. */
import { LoaderCircle } from 'lucide-react'

export const Spinner = ({ size = 14 }: { size?: number }) => (
  <LoaderCircle size={size} className="animate-spin motion-reduce:animate-none" aria-hidden="true" />
)
