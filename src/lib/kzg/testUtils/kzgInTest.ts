import { systemClock } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { createKzg } from '../index.ts'

/** One for all tests of a worker: its process loads for seconds, and ends with the worker. */
export const kzg = createKzg({ clock: systemClock, logger: silentLogger })
