// SPDX-License-Identifier: MIT
#include "experiment/output.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "experiment/products.h"
#include "experiment/write_report.h"
#include "limen/base/error.h"
#include "limen/base/version.h"
#include "text.h"

namespace limen::cli::experiment {
namespace {

namespace fs = std::filesystem;

/// The folders that hold nothing but what is written here.
class OutputFolders {
 public:
  explicit OutputFolders(std::string folder) : folder_(std::move(folder)) {
    for (const char* name : kFolders) {
      std::error_code error;
      fs::create_directories(fs::path(folder_) / name, error);
      if (error) throw IoError(IoError::Access::kWrite, folder_, "cannot be written: " + error.message());
    }
  }
  void write(const std::string& name, const std::string& text) {
    const std::string path = (fs::path(folder_) / name).string();
    write_text(path, text);
    written_.insert(fs::path(path).lexically_normal());
  }
  void remove_others() {
    for (const char* name : kFolders) {
      std::vector<fs::path> old;
      for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(folder_) / name)) {
        if (entry.is_regular_file() && !written_.contains(entry.path().lexically_normal())) old.push_back(entry.path());
      }
      for (const fs::path& path : old) fs::remove(path);
    }
  }

 private:
  static constexpr const char* kFolders[] = {"tables", "figures", "times"};
  std::string folder_;
  std::set<fs::path> written_;
};

/// Seconds of each cell, which differ from run to run.
std::string times_text(const Experiment& experiment, const std::vector<Cell>& cells, const CellStore& store) {
  Json all = Json::array();
  for (const Cell& cell : cells) {
    const Json times = store.load_times(cell);
    if (times.empty()) continue;
    Json entry = Json::object();
    entry["cell"] = cell.name(experiment);
    entry["times"] = times;
    all.push_back(std::move(entry));
  }
  return all.dump(1) + "\n";
}

std::string failures_text(const Experiment& experiment, const std::vector<Cell>& cells, const RunOutcome& outcome) {
  if (outcome.failed.empty()) return "";
  std::string text = fmt::format(
      "## Cells without a result\n\nThe tables are made without {}. The same command tries "
      "{} again.\n\n",
      plural_text(outcome.failed.size(), "cell"), outcome.failed.size() == 1 ? "it" : "them");
  for (const FailedCell& failed : outcome.failed) {
    text += fmt::format("- {}: {}\n", one_line(cells[failed.cell].name(experiment)), one_line(failed.why));
  }
  return text + "\n";
}

}  // namespace

Written write_output(const std::string& folder, const Experiment& experiment, const std::vector<Cell>& cells,
                     const CellStore& store, const RunOutcome& outcome, const std::string& command) {
  Written written;
  OutputFolders folders(folder);
  const std::vector<SeedGroup> groups = seed_groups(experiment, cells, store);
  std::string index = fmt::format("# {}\n\n", one_line(experiment.title));
  index += fmt::format("Made by limen {}: `{}`.\n", kLimenVersion, one_line(command));
  if (experiment.is_small) {
    index +=
        "**This is the small version** (`--small`): fewer rows, seeds or epochs, as the configs say. Its figures "
        "are no results.\n";
  }
  index +=
      "\nTables are in `tables/` (Markdown, CSV, LaTeX), figures in `figures/` (SVG), times, which differ from run "
      "to run, in `times/`, the result of each cell in `cells/`.\n\n";
  index += failures_text(experiment, cells, outcome);
  for (const Section& section : experiment.sections) {
    std::vector<SeedGroup> own;
    for (const SeedGroup& group : groups) {
      if (group.section == &section) own.push_back(group);
    }
    index += fmt::format("## {}\n\n", one_line(section.title));
    if (!section.caption.empty()) index += one_line(section.caption) + "\n\n";
    for (const Part& part : section.parts) {
      if (part.caption.empty()) continue;
      index += section.parts.size() > 1 ? fmt::format("- {}: {}\n", part.name, one_line(part.caption))
                                        : one_line(part.caption) + "\n";
    }
    index += "\n";
    for (const FigureProduct& figure : make_figures(section, own)) {
      folders.write("figures/" + figure.name + ".svg", figure.svg);
      index += fmt::format("![{}](figures/{}.svg)\n\n*{}* (`figures/{}.svg`)\n\n", one_line(figure.caption),
                           figure.name, one_line(figure.caption), figure.name);
      ++written.figures;
    }
    for (const TableProduct& table : make_tables(section, own)) {
      const std::string base = (table.has_times ? "times/" : "tables/") + table.name;
      const std::string text = report::markdown(table.table);
      folders.write(base + ".md", text);
      folders.write(base + ".csv", report::csv(table.table));
      folders.write(base + ".tex", report::latex(table.table));
      // Times would make the index differ from run to run.
      index += fmt::format("{} (`{}`)\n\n{}", one_line(table.caption), base,
                           table.has_times ? fmt::format("See [{}.md]({}.md).\n\n", table.name, base) : text + "\n");
      ++written.tables;
    }
  }
  folders.write("times/cells.json", times_text(experiment, cells, store));
  if (const auto first = first_with_rows(cells); first && store.load(cells[*first])) {
    const Cell& cell = cells[*first];
    const ReportInput input = {.title = experiment.title,
                               .command = command,
                               .predictions = kept_predictions(folder, cell),
                               .part = &experiment.sections[cell.section].parts[cell.part]};
    written.has_report = write_report((fs::path(folder) / "report.html").string(), input);
    if (written.has_report) {
      index += fmt::format("## Report\n\n[report.html](report.html): the study of {} as one interactive page.\n",
                           one_line(cell.name(experiment)));
    }
  }
  write_text((fs::path(folder) / "index.md").string(), index);
  folders.remove_others();
  return written;
}

}  // namespace limen::cli::experiment
