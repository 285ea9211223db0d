import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { fakeGenesis } from '../../rollup/engine/testUtils/fakeEngine.ts'
import { testEngineConfig } from '../../rollup/engine/testUtils/testChain.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'
import { syncOptionsFromFlags } from './syncOptions.ts'

const CONFIG = { ...testEngineConfig(fakeGenesis(0, 1n)), blockTime: 7 }
const VALUES = {
  syncmode: 'consensus-layer',
  syncmodeReqResp: true,
  syncmodeOffsetElSafe: rollupNodeFlags['syncmode.offset-el-safe'].default,
  l2Enginekind: rollupNodeFlags['l2.enginekind'].default,
  p2pDisable: false,
  sequencerEnabled: false,
  sequencerStopped: false,
} as const

describe('syncOptionsFromFlags', () => {
  it('has no offset with consensus-layer sync', () => {
    expect(syncOptionsFromFlags(VALUES, CONFIG, silentLogger)).toEqual({
      mode: 'consensus-layer',
      reqResp: true,
      offsetBlocks: 0,
      resyncs: true,
    })
  })

  it('rounds the offset up to whole blocks with execution-layer sync', () => {
    const values = { ...VALUES, syncmode: 'execution-layer', l2Enginekind: 'geth', syncmodeReqResp: false } as const
    expect(syncOptionsFromFlags(values, CONFIG, silentLogger)).toEqual({
      mode: 'execution-layer',
      reqResp: false,
      offsetBlocks: 6172,
      resyncs: false,
    })
  })
})
