import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Bootnode, Endpoint } from './bootnodes.ts'
import type { NodeRecord } from './nodeRecord.ts'

type Enode = Bootnode & { kind: 'enode' }

/** A node that has not answered for so long may have moved: its name is looked up again. */
const RESOLVE_AGAIN_MS = 60_000
interface EnodeState {
  bootnode: Enode
  /** Undefined while the name is not found; kept when it is not found any more. */
  endpoint: Endpoint | undefined
  hasWarned: boolean
  /** When its name is looked up, unless it has joined the table by then. */
  resolveAtMs: number
}

/** Bootnodes that are given without a record, which they are asked for. */
export function createEnodeBootnodes(
  modules: {
    clock: Clock
    logger: Logger
    resolve(bootnode: Enode): Promise<Endpoint>
    /** It joins the table once it has answered. */
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
      logger.debug('Bootnode cannot be asked', { ip: endpoint.ip, err: describeError(error) })
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
      logger.warn('Bootnode cannot be resolved, going on without it for now', { host, err: describeError(error) })
    }
  }

  return {
    /** Asks those that are not in the table. */
    contactMissing(table: readonly Pick<NodeRecord, 'publicKey'>[]): void {
      const inTable = new Set(table.map((record) => Buffer.from(record.publicKey).toString('hex')))
      for (const state of states) {
        if (inTable.has(Buffer.from(state.bootnode.publicKey).toString('hex'))) {
          // Should it leave, it is asked where it was for a minute.
          state.resolveAtMs = clock.now() + RESOLVE_AGAIN_MS
        } else void contact(state)
      }
    },
    isAt: (ip: string): boolean => states.some(({ endpoint }) => endpoint?.ip === ip),
  }
}
