import { afterAll } from 'vitest'
import { systemClock } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { createKzg } from '../index.ts'

/** One for all tests of a file: its process, which starts with the first blob, loads for seconds. */
export const kzg = createKzg({ clock: systemClock, logger: silentLogger })
afterAll(() => kzg.close())
