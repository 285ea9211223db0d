import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Bootnode, Endpoint } from './bootnodes.ts'
import type { NodeRecord } from './nodeRecord.ts'

type Enode = Bootnode & { kind: 'enode' }

/** A node that did not answer for this long may have moved, so its name is resolved again. */
const RESOLVE_AGAIN_MS = 60_000
interface EnodeState {
  bootnode: Enode
  /** Undefined until the name resolves. Kept when a later resolution fails. */
  endpoint: Endpoint | undefined
  hasWarned: boolean
  /** Time of the next resolution, unless the node has entered the table by then. */
  resolveAtMs: number
}

/** Bootnodes given without a record. Their records are requested from them. */
export function createEnodeBootnodes(
  modules: {
    clock: Clock
    logger: Logger
    resolve(bootnode: Enode): Promise<Endpoint>
    /** The node enters the table when it has answered. */
    contact(endpoint: Endpoint): void
    isRunning(): boolean
  },
  enodes: readonly Enode[],
) {
  const { clock, logger } = modules
  const states: EnodeState[] = enodes.map((bootnode) => ({
    bootnode,
    endpoint: undefined,
    hasWarned: false,
    resolveAtMs: 0,
  }))

  const contact = async (state: EnodeState): Promise<void> => {
    if (clock.now() >= state.resolveAtMs) await resolve(state)
    const { endpoint } = state
    if (endpoint === undefined || !modules.isRunning()) return
    try {
      modules.contact(endpoint)
    } catch (error) {
      logger.debug('Bootnode cannot be contacted', { ip: endpoint.ip, err: describeError(error) })
    }
  }
  const resolve = async (state: EnodeState): Promise<void> => {
    const { host } = state.bootnode
    state.resolveAtMs = clock.now() + RESOLVE_AGAIN_MS
    try {
      const before = state.endpoint?.ip
      state.endpoint = await modules.resolve(state.bootnode)
      if (before !== undefined && before !== state.endpoint.ip) {
        logger.info('Bootnode has moved', { host, from: before, to: state.endpoint.ip })
      }
    } catch (error) {
      if (state.hasWarned || !modules.isRunning()) return
      state.hasWarned = true
      logger.warn('Bootnode cannot be resolved: continuing without it', { host, err: describeError(error) })
    }
  }

  return {
    /** Contacts the bootnodes that are not in the table. */
    contactMissing(table: readonly Pick<NodeRecord, 'publicKey'>[]): void {
      const inTable = new Set(table.map((record) => Buffer.from(record.publicKey).toString('hex')))
      for (const state of states) {
        if (inTable.has(Buffer.from(state.bootnode.publicKey).toString('hex'))) {
          // If the node leaves the table, its known address is tried for a minute first.
          state.resolveAtMs = clock.now() + RESOLVE_AGAIN_MS
        } else void contact(state)
      }
    },
    isAt: (ip: string): boolean => states.some(({ endpoint }) => endpoint?.ip === ip),
  }
}
