import { systemClock } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { createKzg } from '../index.ts'

/** Shared by all tests of a worker, because the process takes seconds to load. It ends with the worker. */
export const kzg = createKzg({ clock: systemClock, logger: silentLogger })
