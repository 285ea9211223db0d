import { unixSeconds } from '../../../lib/clock.ts'
import type { MethodTable, RpcModules } from '../context.ts'
import { flag, method, optional, type Param, readInteger } from '../params.ts'

/** Unix seconds, as a JSON number (op-node, op-reth) or as a quantity. */
const timestamp: Param<number> = { parse: (value) => readInteger(value, 'timestamp') }

/** admin_ methods of sequencer-defined metering, under op-reth's names before and after September 2026. */
export function createSdmMethods({
  chain,
  clock,
  sdm,
  logger,
}: Pick<RpcModules, 'chain' | 'clock' | 'sdm' | 'logger'>): MethodTable {
  const setOptIn = method([flag], ([isOn]) => {
    sdm.isOn = isOn
    logger.info('Switched gas refunds for warmed accounts and slots', { optIn: isOn })
    return null
  })
  return {
    admin_setSdmPostExecOptIn: setOptIn,
    admin_setOperatorSdmOptIn: setOptIn,
    admin_sdmStatus: method([optional(timestamp, undefined)], ([at = unixSeconds(clock)]) => {
      const protocolActive = chain.isForkActive('lagoon', at)
      return {
        postExecOptIn: sdm.isOn,
        operatorSdmOptIn: sdm.isOn,
        protocolActive,
        effective: sdm.isOn && protocolActive,
        activationTime: chain.config.forks.lagoon ?? null,
      }
    }),
  }
}
