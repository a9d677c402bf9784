// Rules and dashboards for those who build their monitoring with jsonnet, under the names that mixins use. Dashboards are the
// files of dashboards/; rules/ holds those of alerts/ as JSON, made by `make deploy`, since Debian's jsonnet reads no YAML of
// several lines.
{
  // Groups by file. `policy` is the one to replace with your own.
  roceRuleFiles:: {
    blindness: import 'rules/roce-blindness.json',
    configuration: import 'rules/roce-configuration.json',
    links: import 'rules/roce-links.json',
    lossless: import 'rules/roce-lossless.json',
    pause: import 'rules/roce-pause.json',
    policy: import 'rules/roce-policy.json',
    recording: import 'rules/roce-recording.json',
  },

  local files = self.roceRuleFiles,
  local groups(names) = std.flatMap(function(name) files[name].groups, names),

  prometheusAlerts+:: { groups+: groups(['blindness', 'configuration', 'lossless', 'pause']) },

  // The alerts ask for these, so both have to be loaded.
  prometheusRules+:: { groups+: groups(['policy', 'recording', 'links']) },

  grafanaDashboards+:: {
    'roce-exporter.json': import '../../dashboards/roce-exporter.json',
    'roce-fleet.json': import '../../dashboards/roce-fleet.json',
    'roce-host.json': import '../../dashboards/roce-host.json',
    'roce-storm.json': import '../../dashboards/roce-storm.json',
  },
}
