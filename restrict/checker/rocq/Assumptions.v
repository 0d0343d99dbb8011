(** What the theorems assume: nothing (`make check` reads this). *)
From R Require Import Defined Fast Main Classes Averages.
Print Assumptions verified_is_true.
Print Assumptions forcing_number_is_true.
Print Assumptions check_source_sound.
Print Assumptions val_same.
Print Assumptions classes_sound.
Print Assumptions covered_sound.
Print Assumptions covered_classes.
Print Assumptions averages_bounded.
Print Assumptions memory_projects.
Print Assumptions averages_bounded_at_every_length.
