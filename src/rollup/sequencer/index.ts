export { type Conductor, ConductorClient, ConductorError } from './conductorClient.ts'
export type { SequencerMetrics, SequencerModules } from './modules.ts'
export { OriginError, OriginSelector } from './originSelector.ts'
export { Sequencer, SequencerError, type SequencerOptions, type SequencerStatus } from './sequencer.ts'
