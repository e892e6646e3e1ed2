/** A handler that a stranger's file may drive mad: it loops, leaks or answers. */
import type { JobContext } from 'retoma'

export default async (_: JobContext, { file }: { file: 'fine' | 'loops' | 'leaks' }): Promise<{ pages: number }> => {
  if (file === 'loops') for (;;);
  const kept: Buffer[] = []
  while (file === 'leaks') kept.push(Buffer.alloc(16 * 1024 * 1024, 1))
  return { pages: 3 }
}
