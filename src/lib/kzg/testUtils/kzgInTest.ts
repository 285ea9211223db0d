import { afterAll } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { createKzg } from '../../lib/kzg/index.ts'
import { silentLogger } from '../../lib/logger.ts'

/** One for all tests of a file: its process, which starts with the first blob, loads for seconds. */
export const kzg = createKzg({ clock: systemClock, logger: silentLogger })
afterAll(() => kzg.close())
